use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address is for, as far as it decides whether a stranger's URI may lead there (fetching facts, "Addresses").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressClass {
    /// A host on the public internet.
    Public,
    /// This machine: `127.0.0.0/8`, `::1`.
    Loopback,
    /// A private network: `10.0.0.0/8`, `172.16.0.0/12`, `192.168.0.0/16`.
    Private,
    /// An IPv6 private network: `fc00::/7`.
    UniqueLocal,
    /// The link it is on: `169.254.0.0/16`, `fe80::/10`. Cloud metadata services live here.
    LinkLocal,
    /// A cloud's metadata or platform service outside the link-local range.
    CloudService,
    /// The inside of a carrier's address translation: `100.64.0.0/10`.
    CarrierNat,
    /// "This network" and the unspecified addresses: `0.0.0.0/8`, `::`.
    Unspecified,
    /// A group of hosts: `224.0.0.0/4`, `ff00::/8`.
    Multicast,
    /// Every host on the link: `255.255.255.255`.
    Broadcast,
    /// Reserved for documentation: `192.0.2.0/24` and its kin, `2001:db8::/32`, `3fff::/20`.
    Documentation,
    /// Reserved for benchmarks: `198.18.0.0/15`, `2001:2::/48`.
    Benchmarking,
    /// Protocol assignments: `192.0.0.0/24`, the rest of `2001::/23`.
    ProtocolAssignment,
    /// Where packets are thrown away: `100::/64`.
    Discard,
    /// A network's own translation prefix: `64:ff9b:1::/48`.
    LocalTranslation,
    /// The former site-local range: `fec0::/10`.
    SiteLocal,
    /// Everything else that is not, or not yet, the public internet.
    Reserved,
}

impl AddressClass {
    /// The class of `ip`. An IPv6 address that carries an IPv4 one (mapped, compatible, translated, NAT64, 6to4, Teredo) is
    /// judged by the one it carries, because that is where its packets end.
    pub fn of(ip: IpAddr) -> Self {
        match ip {
            IpAddr::V4(ip) => class_of_v4(ip),
            IpAddr::V6(ip) => class_of_v6(ip),
        }
    }

    /// Whether `--allow-private` opens this class: this machine and private networks, nothing else.
    fn opens_on_request(self) -> bool {
        matches!(self, Self::Loopback | Self::Private | Self::UniqueLocal)
    }
}

impl fmt::Display for AddressClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public => "a public address",
            Self::Loopback => "this machine itself",
            Self::Private => "a private network",
            Self::UniqueLocal => "a private IPv6 network",
            Self::LinkLocal => "a link-local address, where cloud metadata lives",
            Self::CloudService => "a cloud's internal service",
            Self::CarrierNat => "the inside of a carrier's network",
            Self::Unspecified => "an unspecified address",
            Self::Multicast => "a multicast group",
            Self::Broadcast => "the broadcast address",
            Self::Documentation => "an address reserved for documentation",
            Self::Benchmarking => "an address reserved for benchmarks",
            Self::ProtocolAssignment => "an address reserved for protocol assignments",
            Self::Discard => "the discard prefix",
            Self::LocalTranslation => "a local translation prefix",
            Self::SiteLocal => "a site-local address",
            Self::Reserved => "a reserved address",
        })
    }
}

/// Which addresses may be connected to. Nothing opens link-local, multicast, unspecified or reserved ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressPolicy {
    private: bool,
}

impl AddressPolicy {
    /// Public addresses only: what every URI from a chain or a card gets.
    pub const fn public_only() -> Self {
        Self { private: false }
    }

    /// Loopback, private and unique-local addresses too: `--allow-private`, `--allow-host`, or a URL that the user typed.
    pub const fn with_private() -> Self {
        Self { private: true }
    }

    /// Lets `ip` pass.
    ///
    /// # Errors
    /// The class that keeps it out.
    pub fn check(self, ip: IpAddr) -> Result<(), AddressClass> {
        match AddressClass::of(ip) {
            AddressClass::Public => Ok(()),
            class if self.private && class.opens_on_request() => Ok(()),
            class => Err(class),
        }
    }
}

/// The hint that goes with a refusal: how to open it, where it can be opened.
pub(super) fn way_in(class: AddressClass) -> &'static str {
    if class.opens_on_request() {
        "; --allow-private opens it"
    } else {
        ""
    }
}

fn class_of_v4(ip: Ipv4Addr) -> AddressClass {
    match ip.octets() {
        [0, ..] => AddressClass::Unspecified,
        [10, ..] | [192, 168, ..] => AddressClass::Private,
        [172, second, ..] if second & 0xf0 == 16 => AddressClass::Private,
        [100, second, ..] if second & 0xc0 == 64 => AddressClass::CarrierNat,
        [127, ..] => AddressClass::Loopback,
        [169, 254, ..] => AddressClass::LinkLocal,
        [168, 63, 129, 16] => AddressClass::CloudService,
        [192, 0, 0, _] => AddressClass::ProtocolAssignment,
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => AddressClass::Documentation,
        [192, 88, 99, _] => AddressClass::Reserved,
        [198, 18 | 19, ..] => AddressClass::Benchmarking,
        [255, 255, 255, 255] => AddressClass::Broadcast,
        [first, ..] if first & 0xf0 == 224 => AddressClass::Multicast,
        [first, ..] if first >= 240 => AddressClass::Reserved,
        _ => AddressClass::Public,
    }
}

fn class_of_v6(ip: Ipv6Addr) -> AddressClass {
    if let Some(carried) = carried_v4(ip) {
        return class_of_v4(carried);
    }
    match ip.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => AddressClass::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressClass::Loopback,
        // The metadata services of AWS and Google Cloud: inside the unique-local range, which --allow-private opens.
        [0xfd00, 0xec2, 0, 0, 0, 0, 0, _] | [0xfd20, 0xce, 0, 0, 0, 0, 0, _] => AddressClass::CloudService,
        [0x64, 0xff9b, 1, ..] => AddressClass::LocalTranslation,
        [0x100, 0, 0, 0 | 1, ..] => AddressClass::Discard,
        [0x2001, 2, 0, ..] => AddressClass::Benchmarking,
        [0x2001, 0xdb8, ..] => AddressClass::Documentation,
        [0x2001, second, ..] if second < 0x200 => AddressClass::ProtocolAssignment,
        [0x3fff, second, ..] if second < 0x1000 => AddressClass::Documentation,
        [first, ..] if first & 0xfe00 == 0xfc00 => AddressClass::UniqueLocal,
        [first, ..] if first & 0xffc0 == 0xfe80 => AddressClass::LinkLocal,
        [first, ..] if first & 0xffc0 == 0xfec0 => AddressClass::SiteLocal,
        [first, ..] if first & 0xff00 == 0xff00 => AddressClass::Multicast,
        // Global unicast is 2000::/3; the rest has not been handed out.
        [first, ..] if first & 0xe000 == 0x2000 => AddressClass::Public,
        _ => AddressClass::Reserved,
    }
}

/// The IPv4 address that an IPv6 one carries, if it is of a form that does.
fn carried_v4(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let join = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match ip.segments() {
        // `::` and `::1` are addresses of their own, not compatible forms of 0.0.0.0 and 0.0.0.1.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        // Mapped, compatible (RFC 4291), translated (RFC 2765), NAT64 (RFC 6052): the last 32 bits.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Some(join(high, low))
        }
        // 6to4 (RFC 3056): right after the prefix.
        [0x2002, high, low, ..] => Some(join(high, low)),
        // Teredo (RFC 4380): the client's address, its bits flipped.
        [0x2001, 0, .., high, low] => Some(join(!high, !low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use AddressClass as Class;

    const TABLE: &[(&str, Class)] = &[
        ("8.8.8.8", Class::Public),
        ("34.65.134.134", Class::Public),
        ("0.0.0.0", Class::Unspecified),
        ("0.1.2.3", Class::Unspecified),
        ("10.0.0.1", Class::Private),
        ("11.0.0.1", Class::Public),
        ("100.63.255.255", Class::Public),
        ("100.64.0.1", Class::CarrierNat),
        ("100.100.100.200", Class::CarrierNat),
        ("100.127.255.255", Class::CarrierNat),
        ("100.128.0.1", Class::Public),
        ("127.0.0.1", Class::Loopback),
        ("127.255.255.255", Class::Loopback),
        ("168.63.129.16", Class::CloudService),
        ("169.254.169.254", Class::LinkLocal),
        ("169.254.0.0", Class::LinkLocal),
        ("172.15.255.255", Class::Public),
        ("172.16.0.1", Class::Private),
        ("172.31.255.255", Class::Private),
        ("172.32.0.1", Class::Public),
        ("192.0.0.1", Class::ProtocolAssignment),
        ("192.0.2.1", Class::Documentation),
        ("192.88.99.1", Class::Reserved),
        ("192.168.0.1", Class::Private),
        ("198.17.255.255", Class::Public),
        ("198.18.0.1", Class::Benchmarking),
        ("198.19.255.255", Class::Benchmarking),
        ("198.51.100.7", Class::Documentation),
        ("203.0.113.7", Class::Documentation),
        ("224.0.0.1", Class::Multicast),
        ("239.255.255.255", Class::Multicast),
        ("240.0.0.1", Class::Reserved),
        ("255.255.255.254", Class::Reserved),
        ("255.255.255.255", Class::Broadcast),
        ("::", Class::Unspecified),
        ("::1", Class::Loopback),
        ("::2", Class::Unspecified),
        ("::7f00:1", Class::Loopback),
        ("::8.8.8.8", Class::Public),
        ("::ffff:7f00:1", Class::Loopback),
        ("::ffff:127.0.0.1", Class::Loopback),
        ("::ffff:169.254.169.254", Class::LinkLocal),
        ("::ffff:8.8.8.8", Class::Public),
        ("::ffff:0:10.0.0.1", Class::Private),
        ("64:ff9b::7f00:1", Class::Loopback),
        ("64:ff9b::a9fe:a9fe", Class::LinkLocal),
        ("64:ff9b::8.8.8.8", Class::Public),
        ("64:ff9b:1::8.8.8.8", Class::LocalTranslation),
        ("64:ff9b:2::1", Class::Reserved),
        ("100::1", Class::Discard),
        ("2001:0:1:2:3:4:80ff:fffe", Class::Loopback),
        ("2001:0:4136:e378:8000:63bf:f7f7:f7f7", Class::Public),
        ("2001:2::1", Class::Benchmarking),
        ("2001:10::1", Class::ProtocolAssignment),
        ("2001:20::1", Class::ProtocolAssignment),
        ("2001:200::1", Class::Public),
        ("2001:4860:4860::8888", Class::Public),
        ("2001:db8::1", Class::Documentation),
        ("2002:7f00::", Class::Loopback),
        ("2002:7f00:1::", Class::Loopback),
        ("2002:a9fe:a9fe::1", Class::LinkLocal),
        ("2002:c0a8:1::1", Class::Private),
        ("2002:808:808::1", Class::Public),
        ("2606:4700::1111", Class::Public),
        ("3fff::1", Class::Documentation),
        ("3fff:fff::1", Class::Documentation),
        ("3fff:1000::1", Class::Public),
        ("4000::1", Class::Reserved),
        ("5f00::1", Class::Reserved),
        ("fc00::1", Class::UniqueLocal),
        ("fd00:ec2::254", Class::CloudService),
        ("fd20:ce::254", Class::CloudService),
        ("fdff:ffff::1", Class::UniqueLocal),
        ("fe80::1", Class::LinkLocal),
        ("febf::1", Class::LinkLocal),
        ("fec0::1", Class::SiteLocal),
        ("ff02::1", Class::Multicast),
    ];

    #[test]
    fn c_45_every_address_has_its_class() {
        for (text, class) in TABLE {
            let ip: IpAddr = text.parse().unwrap();
            assert_eq!(AddressClass::of(ip), *class, "{text}");
        }
    }

    #[test]
    fn c_45_only_public_addresses_pass_by_default() {
        for (text, class) in TABLE {
            let passes = AddressPolicy::public_only().check(text.parse().unwrap()).is_ok();
            assert_eq!(passes, *class == Class::Public, "{text}");
        }
    }

    #[test]
    fn allow_private_opens_loopback_private_and_unique_local_only() {
        for (text, class) in TABLE {
            let passes = AddressPolicy::with_private().check(text.parse().unwrap()).is_ok();
            let open = matches!(class, Class::Public | Class::Loopback | Class::Private | Class::UniqueLocal);
            assert_eq!(passes, open, "{text}");
        }
    }
}
