mod damage;
mod round_trip;
mod fixture;
pub(super) mod sample;
mod sizes;
