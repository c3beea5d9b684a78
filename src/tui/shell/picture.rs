//! One frame of the screens, without a terminal.

use crossterm::event::{KeyCode, KeyEvent};
use jiff::tz::TimeZone;
use ratatui::buffer::Buffer;

use crate::data::Feed;
use crate::input::screen_id::ScreenId;
use crate::widgets::theme::Theme;

use super::effect::{Effect, Msg};
use super::model::Model;
use super::settle::search;
use super::update::update;
use super::view::view;
use crate::shell::run::painter::blank;

/// Searches that one message may begin, one after another.
const MAX_SETTLINGS: usize = 1_000;

/// The content of a picture.
pub struct PictureOptions {
    pub screen: ScreenId,
    /// Columns and rows.
    pub size: (u16, u16),
    pub theme: Theme,
    pub zone: TimeZone,
    /// Keys to type on the screen.
    pub keys: Vec<KeyCode>,
}

/// Draws the screen of a feed as it is once all keys are typed.
pub fn picture(feed: &dyn Feed, options: &PictureOptions) -> Buffer {
    let mut model = Model::new(options.size, options.theme, options.zone.clone());
    let mut effects = send(feed, &mut model, Msg::Info(Box::new(feed.info())));
    let number = char::from_digit(u32::from(options.screen.number()), 10);
    for key in number.map(KeyCode::Char).into_iter().chain(options.keys.iter().copied()) {
        effects.extend(send(feed, &mut model, Msg::Key(KeyEvent::from(key))));
        for effect in std::mem::take(&mut effects) {
            // Other effects are for a terminal, a file or a peer.
            if let Effect::Replay(seek) = effect {
                let moved = feed.replay(None, seek);
                let info = Msg::Info(Box::new(feed.info()));
                effects.extend(send(feed, &mut model, info));
                if let Err(why) = moved {
                    model.say(why.to_string());
                }
            }
        }
    }
    let mut frame = blank(options.size);
    view(&model, &mut frame);
    frame
}

/// Takes a message, and finishes what it begins.
fn send(feed: &dyn Feed, model: &mut Model, message: Msg) -> Vec<Effect> {
    let (mut message, mut effects) = (Some(message), Vec::new());
    feed.read(&mut |data| {
        let Some(message) = message.take() else { return };
        effects.extend(update(model, message, data));
        while search(model, data) {}
        effects.extend(update(model, Msg::Changed, data));
        // A search may begin another one: a graph is first built, then its references are read.
        for _ in 0..MAX_SETTLINGS {
            if !model.is_searching() {
                break;
            }
            while search(model, data) {}
            effects.extend(update(model, Msg::Changed, data));
        }
    });
    effects
}
