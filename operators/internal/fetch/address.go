package fetch

import (
	"fmt"
	"net/netip"
	"syscall"
)

// closed are networks that are not the public internet beyond what netip knows by name.
var closed = func() []netip.Prefix {
	var out []netip.Prefix
	for _, s := range []string{
		"0.0.0.0/8",       // this host
		"100.64.0.0/10",   // carrier-grade NAT, cloud metadata of some providers
		"192.0.0.0/24",    // protocol assignments
		"192.0.2.0/24",    // documentation
		"198.18.0.0/15",   // benchmarking
		"198.51.100.0/24", // documentation
		"203.0.113.0/24",  // documentation
		"240.0.0.0/4",     // reserved, broadcast
		"64:ff9b:1::/48",  // local NAT64
		"100::/64",        // discard
		"2001:db8::/32",   // documentation
		"fec0::/10",       // old site-local
	} {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}()

// Addresses that carry an IPv4 address inside.
var (
	nat64   = netip.MustParsePrefix("64:ff9b::/96")
	sixTo4  = netip.MustParsePrefix("2002::/16")
	teredo  = netip.MustParsePrefix("2001::/32")
	v4InV6  = netip.MustParsePrefix("::/96")
	v4Start = map[netip.Prefix]int{nat64: 12, sixTo4: 2, v4InV6: 12}
)

// public reports whether an address is one of the public internet.
func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsGlobalUnicast() || a.IsPrivate() { // global unicast leaves out loopback, link-local, multicast, unspecified
		return false
	}
	for _, p := range closed {
		if p.Contains(a) {
			return false
		}
	}
	if a.Is6() {
		if teredo.Contains(a) {
			return false
		}
		b := a.As16()
		for p, at := range v4Start {
			if p.Contains(a) {
				return public(netip.AddrFrom4([4]byte(b[at : at+4])))
			}
		}
	}
	return true
}

// PrivateError says that a URL leads to an address that is not public.
type PrivateError struct{ Addr netip.Addr }

func (e *PrivateError) Error() string {
	return fmt.Sprintf("address %s is not public; allow_private=true allows it", e.Addr)
}

// Class implements dataset.Classed.
func (*PrivateError) Class() string { return "private address" }

// refusePrivate is a net.Dialer's Control: it sees the address that is really dialled.
func refusePrivate(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("check address %s: %w", address, err)
	}
	if !public(ap.Addr()) {
		return &PrivateError{ap.Addr().Unmap()}
	}
	return nil
}
