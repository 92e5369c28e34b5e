use std::error::Error;
use std::io;

/// An error and its causes. An I/O error hides what it wraps from `source`, so it is opened here.
pub(crate) fn links<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |link| {
        let link: &'a (dyn Error + 'static) = *link;
        let wrapped = link.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        wrapped.map(|inner| inner as &(dyn Error + 'static)).or_else(|| link.source())
    })
}

/// The first of an error and its causes that is a `T`.
pub(crate) fn find<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    links(error).find_map(|link| link.downcast_ref::<T>())
}
