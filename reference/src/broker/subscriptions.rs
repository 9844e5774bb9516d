//! Who gets a message: the index of all subscriptions of the broker.
//!
//! Literal subjects are one hash lookup; subjects with wildcards are a trie by token.
//! The index is generic in what a client is, so that its tests need no socket.
//! Neighbours: [`super::connection`] keeps it behind a lock and delivers to whom it names.
//! Deliberately absent: I/O, echo suppression (the caller declines), and any cache of matches.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use super::subject::{self, Tokens};

/// One client's interest in a subject.
#[derive(Debug)]
pub(super) struct Subscription<C> {
    /// Whose it is.
    pub(super) client: C,
    /// Whose it is, as a key.
    pub(super) client_id: u64,
    /// The client's own name for it.
    pub(super) sid: Bytes,
    subject: Bytes,
    queue: Option<Bytes>,
    /// How many messages were claimed for it.
    delivered: AtomicU64,
    /// How many it may get in all; 0 is no limit.
    max: AtomicU64,
}

/// The permission to deliver one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    /// Deliver.
    Granted,
    /// Deliver, then remove the subscription: its maximum is reached.
    Last,
    /// Do not deliver: another message was the last.
    Exhausted,
}

impl<C> Subscription<C> {
    /// Counts a delivery. Publishers race for the last one, and exactly one of them gets it.
    pub(super) fn claim(&self) -> Claim {
        let number = self.delivered.fetch_add(1, Ordering::Relaxed) + 1;
        match self.max.load(Ordering::Relaxed) {
            0 => Claim::Granted,
            max if number < max => Claim::Granted,
            max if number == max => Claim::Last,
            _ => Claim::Exhausted,
        }
    }
}

/// Every subscription of every client.
#[derive(Debug)]
pub(super) struct SubscriptionIndex<C> {
    literal: HashMap<Bytes, Members<C>>,
    wildcard: Node<C>,
    by_client: HashMap<u64, HashMap<Bytes, Arc<Subscription<C>>>>,
}

impl<C> SubscriptionIndex<C> {
    pub(super) fn new() -> Self {
        Self { literal: HashMap::new(), wildcard: Node::new(), by_client: HashMap::new() }
    }

    /// Adds a subscription. A sid in use keeps its old subscription, as in `nats-server`.
    pub(super) fn subscribe(
        &mut self,
        client: C,
        client_id: u64,
        sid: Bytes,
        subject: Bytes,
        queue: Option<Bytes>,
    ) {
        let own = self.by_client.entry(client_id).or_default();
        if own.contains_key(&sid) {
            return;
        }
        let subscription = Arc::new(Subscription {
            client,
            client_id,
            sid: sid.clone(),
            subject: subject.clone(),
            queue,
            delivered: AtomicU64::new(0),
            max: AtomicU64::new(0),
        });
        own.insert(sid, Arc::clone(&subscription));
        if subject::has_wildcard(&subject) {
            self.wildcard.insert(subject::tokens(&subject), subscription);
        } else {
            self.literal.entry(subject).or_default().insert(subscription);
        }
    }

    /// The subjects of every client, sorted.
    pub(super) fn subjects(&self) -> Vec<(u64, Vec<String>)> {
        let mut all: Vec<(u64, Vec<String>)> = self
            .by_client
            .iter()
            .map(|(client, own)| {
                let text = |own: &Arc<Subscription<C>>| String::from_utf8_lossy(&own.subject).into_owned();
                let mut subjects: Vec<String> = own.values().map(text).collect();
                subjects.sort();
                (*client, subjects)
            })
            .collect();
        all.sort();
        all
    }

    /// Ends a subscription: now, or once `max` messages were delivered since it began.
    pub(super) fn unsubscribe(&mut self, client_id: u64, sid: &[u8], max: Option<u64>) {
        let Some(subscription) = self.by_client.get(&client_id).and_then(|own| own.get(sid)) else {
            return;
        };
        let delivered = subscription.delivered.load(Ordering::Relaxed);
        match max {
            Some(max) if delivered < max => subscription.max.store(max, Ordering::Relaxed),
            _ => {
                let subscription = Arc::clone(subscription);
                self.remove(&subscription);
            }
        }
    }

    /// Removes exactly this subscription; one that is gone already is no matter.
    pub(super) fn remove(&mut self, subscription: &Arc<Subscription<C>>) {
        if let Some(own) = self.by_client.get_mut(&subscription.client_id)
            && own.get(&subscription.sid).is_some_and(|held| Arc::ptr_eq(held, subscription))
        {
            own.remove(&subscription.sid);
        }
        self.unlink(subscription);
    }

    /// Removes everything of a client.
    pub(super) fn remove_client(&mut self, client_id: u64) {
        for subscription in self.by_client.remove(&client_id).unwrap_or_default().into_values() {
            self.unlink(&subscription);
        }
    }

    /// Offers a message to every matching subscription and to one member of every matching queue
    /// group, and returns how many took it.
    ///
    /// `deliver` returns false to decline. Where a queue member declines, the next is asked.
    /// `pick` chooses the member that is asked first.
    pub(super) fn route(
        &self,
        subject: &[u8],
        pick: u64,
        mut deliver: impl FnMut(&Arc<Subscription<C>>) -> bool,
    ) -> usize {
        let mut taken = 0;
        let mut groups: Vec<&Group<C>> = Vec::new();
        self.matching(subject, &mut |members| {
            taken += members.plain.iter().filter(|member| deliver(member)).count();
            groups.extend(&members.groups);
        });
        // One group may listen on several subjects that match, and still gets the message once.
        groups.sort_unstable_by(|left, right| left.name.cmp(&right.name));
        for same in groups.chunk_by(|left, right| left.name == right.name) {
            let size = same.iter().map(|group| group.members.len()).sum();
            let first = remainder(pick, size);
            let members = || same.iter().flat_map(|group| &group.members);
            let mut in_turn = members().skip(first).chain(members().take(first));
            taken += usize::from(in_turn.any(&mut deliver));
        }
        taken
    }

    fn matching<'s>(&'s self, subject: &[u8], visit: &mut dyn FnMut(&'s Members<C>)) {
        if let Some(members) = self.literal.get(subject) {
            visit(members);
        }
        self.wildcard.matching(subject::tokens(subject), visit);
    }

    fn unlink(&mut self, subscription: &Arc<Subscription<C>>) {
        let subject = &subscription.subject;
        if subject::has_wildcard(subject) {
            self.wildcard.remove(subject::tokens(subject), subscription);
        } else if let Some(members) = self.literal.get_mut(subject) {
            members.remove(subscription);
            if members.is_empty() {
                self.literal.remove(subject);
            }
        }
    }
}

/// `pick` modulo `size`, and 0 for an empty group.
fn remainder(pick: u64, size: usize) -> usize {
    u64::try_from(size)
        .ok()
        .and_then(|size| pick.checked_rem(size))
        .and_then(|first| usize::try_from(first).ok())
        .unwrap_or(0)
}

/// The subscriptions with one and the same subject.
#[derive(Debug)]
struct Members<C> {
    plain: Vec<Arc<Subscription<C>>>,
    groups: Vec<Group<C>>,
}

/// The members of one queue group on one subject.
#[derive(Debug)]
struct Group<C> {
    name: Bytes,
    members: Vec<Arc<Subscription<C>>>,
}

// Derived, it would ask for `C: Default`.
impl<C> Default for Members<C> {
    fn default() -> Self {
        Self { plain: Vec::new(), groups: Vec::new() }
    }
}

impl<C> Members<C> {
    fn insert(&mut self, subscription: Arc<Subscription<C>>) {
        let Some(queue) = &subscription.queue else {
            self.plain.push(subscription);
            return;
        };
        match self.groups.iter_mut().find(|group| group.name == queue) {
            Some(group) => group.members.push(subscription),
            None => {
                self.groups.push(Group { name: queue.clone(), members: vec![subscription] });
            }
        }
    }

    fn remove(&mut self, subscription: &Arc<Subscription<C>>) {
        let other = |held: &Arc<Subscription<C>>| !Arc::ptr_eq(held, subscription);
        if let Some(queue) = &subscription.queue {
            for group in self.groups.iter_mut().filter(|group| group.name == queue) {
                group.members.retain(other);
            }
            self.groups.retain(|group| !group.members.is_empty());
        } else {
            self.plain.retain(other);
        }
    }

    fn is_empty(&self) -> bool {
        self.plain.is_empty() && self.groups.is_empty()
    }
}

/// One token's place in the trie.
#[derive(Debug)]
struct Node<C> {
    literal: HashMap<Bytes, Node<C>>,
    /// `*` comes next.
    any: Option<Box<Node<C>>>,
    /// `>` comes next, and last.
    rest: Members<C>,
    /// The subject ends here.
    here: Members<C>,
}

impl<C> Node<C> {
    fn new() -> Self {
        Self { literal: HashMap::new(), any: None, rest: Members::default(), here: Members::default() }
    }

    fn insert(&mut self, mut tokens: Tokens<'_>, subscription: Arc<Subscription<C>>) {
        let next = match tokens.next() {
            None => return self.here.insert(subscription),
            Some(b">") => return self.rest.insert(subscription),
            Some(b"*") => &mut **self.any.get_or_insert_with(|| Box::new(Self::new())),
            Some(token) => self
                .literal
                // A copy, because a slice would keep the whole control line alive.
                .entry(Bytes::copy_from_slice(token))
                .or_insert_with(Self::new),
        };
        next.insert(tokens, subscription);
    }

    fn remove(&mut self, mut tokens: Tokens<'_>, subscription: &Arc<Subscription<C>>) {
        match tokens.next() {
            None => self.here.remove(subscription),
            Some(b">") => self.rest.remove(subscription),
            Some(b"*") => {
                if let Some(node) = &mut self.any {
                    node.remove(tokens, subscription);
                    self.any.take_if(|node| node.is_empty());
                }
            }
            Some(token) => {
                if let Some(node) = self.literal.get_mut(token) {
                    node.remove(tokens, subscription);
                    if node.is_empty() {
                        self.literal.remove(token);
                    }
                }
            }
        }
    }

    fn matching<'s>(&'s self, mut tokens: Tokens<'_>, visit: &mut dyn FnMut(&'s Members<C>)) {
        let Some(token) = tokens.next() else {
            return visit(&self.here);
        };
        visit(&self.rest);
        if let Some(node) = &self.any {
            node.matching(tokens.clone(), visit);
        }
        if let Some(node) = self.literal.get(token) {
            node.matching(tokens, visit);
        }
    }

    fn is_empty(&self) -> bool {
        self.literal.is_empty() && self.any.is_none() && self.rest.is_empty() && self.here.is_empty()
    }
}

#[cfg(test)]
#[path = "subscriptions_tests.rs"]
mod tests;
