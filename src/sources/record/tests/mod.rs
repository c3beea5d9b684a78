mod compared;
mod damage;
mod fixture;
mod journal;
mod killed;
mod round_trip;
pub(super) mod sample;
mod sizes;
