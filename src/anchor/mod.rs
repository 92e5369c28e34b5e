//! Transactions that anchor cards: build, sign, send, follow.
