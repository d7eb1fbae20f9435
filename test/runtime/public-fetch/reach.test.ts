import { afterEach, describe, expect, it } from "@jest/globals";
import { setTunnels } from "@sekisho/runtime/http/tunnel.ts";
import {
  createReach,
  isLoopbackAddress,
  isPublicAddress,
} from "@sekisho/runtime/public-fetch/reach.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";

/** The first and the last address of each range, and what lies next to it. */
const ranges: readonly (readonly [
  what: string,
  inside: readonly string[],
  outside: readonly string[],
])[] = [
  ["this network", ["0.0.0.0", "0.255.255.255"], ["1.0.0.0"]],
  ["private 10/8", ["10.0.0.0", "10.255.255.255"], ["9.255.255.255", "11.0.0.0"]],
  [
    "shared by carriers (CGNAT)",
    ["100.64.0.0", "100.100.100.200", "100.127.255.255"],
    ["100.63.255.255", "100.128.0.0"],
  ],
  ["loopback", ["127.0.0.0", "127.0.0.1", "127.255.255.255"], ["126.255.255.255", "128.0.0.0"]],
  [
    "link-local addresses with the metadata address",
    ["169.254.0.0", "169.254.169.254", "169.254.255.255"],
    ["169.253.255.255", "169.255.0.0"],
  ],
  ["Azure's platform", ["168.63.129.16"], ["168.63.129.15", "168.63.129.17"]],
  ["private 172.16/12", ["172.16.0.0", "172.31.255.255"], ["172.15.255.255", "172.32.0.0"]],
  [
    "protocol assignments",
    ["192.0.0.0", "192.0.0.192", "192.0.0.255"],
    ["191.255.255.255", "192.0.1.0"],
  ],
  ["private 192.168/16", ["192.168.0.0", "192.168.255.255"], ["192.167.255.255", "192.169.0.0"]],
  ["benchmarks", ["198.18.0.0", "198.19.255.255"], ["198.17.255.255", "198.20.0.0"]],
  [
    "documentation",
    ["192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"],
    ["192.0.3.0", "2001:db9::"],
  ],
  [
    "multicast, reserved, broadcast",
    ["224.0.0.1", "239.255.255.255", "240.0.0.0", "255.255.255.255", "ff02::1"],
    ["223.255.255.255"],
  ],
  ["unspecified and loopback of IPv6", ["::", "::1"], ["2600::"]],
  [
    "mapped and compatible",
    ["::ffff:10.0.0.1", "::ffff:8.8.8.8", "::ffff:0:8.8.8.8", "::8.8.8.8"],
    [],
  ],
  ["NAT64", ["64:ff9b::10.0.0.1", "64:ff9b::8.8.8.8", "64:ff9b:1::1"], []],
  ["unique local addresses with the metadata address", ["fc00::", "fd00:ec2::254", "fdff::1"], []],
  ["link-local and site-local of IPv6", ["fe80::1", "fe80::1%eth0", "febf::1", "fec0::1"], []],
  [
    "Teredo, ORCHID, 6to4",
    ["2001::1", "2001:20::1", "2002:7f00:1::", "2002:a00:1::"],
    ["2001:200::", "2003::"],
  ],
  [
    "discard and unallocated addresses",
    ["100::1", "4000::1", "5f00::1"],
    ["2620:fe::fe", "2a00:1450::1"],
  ],
];

describe("addresses that are not public", () => {
  it.each(ranges)("refuses addresses that are not public: %s", (_what, inside, outside) => {
    expect(inside.filter(isPublicAddress)).toEqual([]);
    expect(outside.filter((address) => !isPublicAddress(address))).toEqual([]);
  });

  it("refuses texts that are not addresses", () => {
    expect(
      ["", "localhost", "8.8.8", "8.8.8.8.", "[2600::]", "0x8.8.8.8"].filter(isPublicAddress),
    ).toEqual([]);
  });

  it("treats an IPv6 address the same however its groups are written", () => {
    const group = fc.integer({ min: 0, max: 0xffff });
    forAll(fc.array(group, { minLength: 8, maxLength: 8 })).hold((groups) => {
      const long = groups.map((value) => value.toString(16).padStart(4, "0")).join(":");
      const short = new URL(`http://[${long}]/`).hostname.slice(1, -1);
      expect(isPublicAddress(short)).toBe(isPublicAddress(long.toUpperCase()));
    });
  });
});

describe("loopback addresses", () => {
  it("treats only 127/8 and ::1 as loopback", () => {
    expect(["127.0.0.1", "127.1.2.3", "::1"].every(isLoopbackAddress)).toBe(true);
    expect(["128.0.0.1", "::2", "::ffff:127.0.0.1", "localhost", ""].some(isLoopbackAddress)).toBe(
      false,
    );
  });
});

describe("a URL behind a proxy", () => {
  afterEach(() => setTunnels(() => undefined));

  function reach(url: string, addresses: readonly string[] | "no DNS") {
    setTunnels(({ hostname }) =>
      hostname === "direct.test" ? undefined : () => Promise.reject(new Error("unused")),
    );
    const resolve = async () => {
      if (addresses === "no DNS") throw Object.assign(new Error("no DNS"), { code: "ENOTFOUND" });
      return addresses.map((address) => ({ address, family: 4 }));
    };
    const request = { url, timeoutMs: 60_000, signal: new AbortController().signal };
    return createReach({ resolve })({ ...request, work: async () => "reached" }).catch(
      ({ reason }) => reason,
    );
  }

  it.each([
    ["https://files.example.com/", "no DNS", "reached"],
    ["https://files.example.com/", [], "reached"],
    ["https://files.example.com/", ["8.8.8.8"], "reached"],
    ["https://files.example.com/", ["8.8.8.8", "10.0.0.1"], "permission_denied"],
    ["https://wiki.internal/", "no DNS", "permission_denied"],
    ["https://wiki/", "no DNS", "permission_denied"],
    ["https://10.0.0.1/", "no DNS", "permission_denied"],
    ["https://169.254.169.254/", "no DNS", "permission_denied"],
    ["https://direct.test/", "no DNS", "unavailable"],
    ["https://direct.test/", [], "unavailable"],
  ] as const)(
    "maps a request for %s with the addresses %j to %s",
    async (url, addresses, outcome) => {
      expect(await reach(url, addresses)).toBe(outcome);
    },
  );
});
