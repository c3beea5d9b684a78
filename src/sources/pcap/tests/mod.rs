mod order;
