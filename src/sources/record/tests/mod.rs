mod compared;
mod damage;
mod fixture;
mod killed;
mod round_trip;
pub(super) mod sample;
mod sizes;
