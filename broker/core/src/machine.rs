//! The one contract for everything that decides.

/// Milliseconds on a clock that never goes back. Only differences mean anything.
pub type Tick = u64;

/// A step machine. Its driver feeds inputs and carries out effects, in order.
pub trait Machine {
    /// What the world may tell it.
    type Input;
    /// What it may ask of the world.
    type Effect;

    /// Applies one input. Never waits and never fails: refusing is an effect like any other.
    fn step(&mut self, now: Tick, input: Self::Input, out: &mut Vec<Self::Effect>);

    /// When the driver must step the machine's timer input, if nothing arrives before.
    fn wake_at(&self) -> Option<Tick>;

    /// Panics if the state contradicts itself. Runs after every step in tests and simulation.
    fn check(&self);
}
