mod damage;
mod round_trip;
mod sample;
mod sizes;
