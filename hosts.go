package tntsql

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

const defaultPort = "3301"

// normalizeHosts brings each host to its one form and refuses duplicates.
// Errors name a host by its position: after a raw "@" or "/" in a password its text may be the
// password's tail.
func normalizeHosts(hosts []string) ([]string, error) {
	var normal []string
	position := make(map[string]int, len(hosts))
	for i, text := range hosts {
		host, err := normalizeHost(text)
		if err != nil {
			return nil, fmt.Errorf("host %d: %w", i+1, err)
		}
		if first, ok := position[host]; ok {
			return nil, fmt.Errorf("host %d: the same as host %d", i+1, first)
		}
		position[host] = i + 1
		normal = append(normal, host)
	}
	return normal, nil
}

// normalizeHost returns "name:port", "1.2.3.4:port", "[::1]:port" or "/path" for a host whose port may be absent.
func normalizeHost(text string) (string, error) {
	switch {
	case text == "":
		return "", errors.New("is empty")
	case text[0] == '/':
		return text, checkSocket(text)
	case text[0] == '[':
		return normalizeIPv6(text)
	}
	name, port, hasPort := strings.Cut(text, ":")
	if strings.Contains(port, ":") {
		return "", errors.New("an IPv6 address needs brackets")
	}
	if err := checkName(name); err != nil {
		return "", err
	}
	return joinPort(strings.ToLower(name), port, hasPort)
}

func normalizeIPv6(text string) (string, error) {
	address, tail, ok := strings.Cut(text[1:], "]")
	if !ok {
		return "", errors.New(`"[" without "]"`)
	}
	ip, err := netip.ParseAddr(address)
	if err != nil || !ip.Is6() || !onlyBytes(ip.Zone(), isNameByte) {
		return "", errors.New("not an IPv6 address in the brackets")
	}
	port, hasPort := strings.CutPrefix(tail, ":")
	if !hasPort && tail != "" {
		return "", errors.New(`only ":port" may follow "]"`)
	}
	return joinPort(ip.String(), port, hasPort)
}

func joinPort(host, port string, hasPort bool) (string, error) {
	if !hasPort {
		return net.JoinHostPort(host, defaultPort), nil
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return "", errors.New("port must be 1 to 65535")
	}
	return net.JoinHostPort(host, strconv.FormatUint(number, 10)), nil
}

// checkName accepts host names and IPv4 addresses. Names in other scripts are sent to DNS in their ASCII form.
func checkName(name string) error {
	if name == "" {
		return errors.New("name is empty")
	}
	if len(name) > 253 {
		return errors.New("name is longer than 253 bytes")
	}
	if !onlyBytes(name, isNameByte) {
		return errors.New("name may have ASCII letters, digits, '-', '_' and '.'")
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(name, "."), ".") {
		if label == "" || len(label) > 63 {
			return errors.New("each label of a name must have 1 to 63 bytes")
		}
	}
	return nil
}

func checkSocket(path string) error {
	if !strings.HasPrefix(path, "/") {
		return errors.New("the path of a Unix socket must be absolute")
	}
	if strings.HasSuffix(path, "/") || strings.Contains(path, "\x00") {
		return errors.New("not the path of a Unix socket")
	}
	return nil
}

func onlyBytes(s string, allowed func(byte) bool) bool {
	for i := range len(s) {
		if !allowed(s[i]) {
			return false
		}
	}
	return true
}

func isLetter(b byte) bool { return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' }
func isDigit(b byte) bool  { return '0' <= b && b <= '9' }

func isNameByte(b byte) bool {
	return isLetter(b) || isDigit(b) || b == '-' || b == '_' || b == '.'
}
