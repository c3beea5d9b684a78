mod damage;
mod fixture;
mod round_trip;
pub(super) mod sample;
mod sizes;
