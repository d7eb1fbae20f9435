import { createServer } from "node:net";
import { afterEach, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { createPublicFetch } from "../../../lambdas/shared/public-fetch/public-fetch.ts";
import type { Resolve } from "../../../lambdas/shared/public-fetch/reach.ts";
import { raw } from "../../doubles/answers.ts";
import { startWebServer } from "../../doubles/web-server.ts";
import { read } from "./read.ts";

const toClose: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of toClose.splice(0)) await close();
});

const nobodyAsks: Resolve = async (name) => {
  throw new Error(`${name} was looked up`);
};
const guarded = createPublicFetch({ resolve: nobodyAsks });
const refused = { name: "SekishoError", reason: "permission_denied" };

function resolvingTo(...addresses: readonly string[]): Resolve {
  return async () => addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
}

/** A server on loopback that counts what reaches it. */
async function startCounted() {
  const hosts: (string | null)[] = [];
  const { url, close } = await startWebServer({
    handle: async ({ request }) => {
      hosts.push(request.headers.get("host"));
      return raw("secret");
    },
  });
  toClose.push(close);
  return { hosts, port: new URL(url).port, url };
}

describe("a URL that somebody else chose", () => {
  it.each([
    ["is no URL", "file"],
    ["is not https", "ftp://example.com/a"],
    ["is a file's", "file:///etc/passwd"],
    ["is data", "data:text/plain,a"],
    ["is http", "http://example.com/a"],
    ["is http on loopback", "http://127.0.0.1/a"],
    ["holds a user", "https://user@example.com/a"],
    ["has a host that is too long to read", `https://${"a".repeat(501)}/`],
    ["holds a password", "https://:secret@example.com/a"],
    ["names this machine", "https://127.0.0.1/"],
    ["names the metadata service", "https://169.254.169.254/latest/meta-data/"],
    ["names a mapped address", "https://[::ffff:a9fe:a9fe]/"],
  ])("is refused where it %s, and nothing is looked up", async (_why, url) => {
    await expect(read(guarded, { url })).rejects.toMatchObject(refused);
  });

  it("is refused with http for a name, also where loopback is allowed", async () => {
    const local = createPublicFetch({ resolve: resolvingTo("127.0.0.1"), allowLoopback: true });
    await expect(read(local, { url: "http://files.test/" })).rejects.toMatchObject(refused);
  });

  it("is refused on any private network, also where loopback is allowed", async () => {
    const local = createPublicFetch({ resolve: nobodyAsks, allowLoopback: true });
    for (const host of ["10.0.0.1", "169.254.169.254", "[fd00::1]", "0.0.0.0", "[::]", "[::ffff:127.0.0.1]"]) {
      await expect(read(local, { url: `https://${host}/` })).rejects.toMatchObject(refused);
    }
  });

  it("does not get a private address through in any spelling", async () => {
    const byte = fc.integer({ min: 0, max: 255 });
    const privateAddress = fc.oneof(
      fc.tuple(fc.constantFrom(10, 127, 0, 224, 255), byte, byte, byte),
      fc.tuple(fc.constant(169), fc.constant(254), byte, byte),
      fc.tuple(fc.constant(192), fc.constant(168), byte, byte),
      fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), byte, byte),
      fc.tuple(fc.constant(100), fc.integer({ min: 64, max: 127 }), byte, byte),
    );
    const spelling = fc.record({
      parts: fc.integer({ min: 1, max: 4 }),
      radixes: fc.array(fc.constantFrom(8, 10, 16), { minLength: 4, maxLength: 4 }),
      zeros: fc.integer({ min: 0, max: 3 }),
      dressed: fc.constantFrom(
        "plain",
        "dot",
        "percent",
        "wide",
        "ideographic",
        "mapped",
        "compatible",
        "nat64",
        "6to4",
      ),
    });
    await fc.assert(
      fc.asyncProperty(privateAddress, spelling, async (address, how) => {
        await expect(read(guarded, { url: `https://${spell(address, how)}/` })).rejects.toMatchObject(refused);
      }),
      { numRuns: 300 },
    );
  });
});

describe("a name", () => {
  it.each([
    ["private", ["10.0.0.1"]],
    ["the metadata service's", ["169.254.169.254"]],
    ["this machine's", ["127.0.0.1"]],
    ["this machine's in IPv6", ["::1"]],
    ["mapped", ["::ffff:127.0.0.1"]],
    ["public, and another is private", ["93.184.215.14", "192.168.1.1"]],
    ["private, and another is public", ["fd00::1", "2606:2800:220:1::1"]],
    ["no address at all", ["localhost"]],
  ])("is refused where its address is %s", async (_what, addresses) => {
    const fetch = createPublicFetch({ resolve: resolvingTo(...addresses) });
    await expect(read(fetch, { url: "https://files.test/" })).rejects.toMatchObject(refused);
  });

  it("of this machine is refused as the system resolves it", async () => {
    const { port, hosts } = await startCounted();
    await expect(read(createPublicFetch(), { url: `https://localhost:${port}/` })).rejects.toMatchObject(refused);
    expect(hosts).toEqual([]);
  });

  it("is looked up once, and the connection goes where that look-up led", async () => {
    const { port, hosts } = await startCounted();
    const asked: string[] = [];
    const fetch = createPublicFetch({
      allowLoopback: true,
      async resolve(name) {
        asked.push(name);
        // Rebinding: whoever asks again gets another address.
        return [{ address: asked.length === 1 ? "127.0.0.1" : "127.0.0.9", family: 4 }];
      },
    });
    const bytes = await read(fetch, { url: `http://localhost:${port}/` });
    expect(Buffer.from(bytes).toString()).toBe("secret");
    expect({ asked, hosts }).toEqual({ asked: ["localhost"], hosts: [`localhost:${port}`] });
  });

  it("with several addresses is read from the one that answers", async () => {
    const { port } = await startCounted();
    const fetch = createPublicFetch({ allowLoopback: true, resolve: resolvingTo("::1", "127.0.0.1") });
    await expect(read(fetch, { url: `http://localhost:${port}/` })).resolves.toHaveLength(6);
  });

  it.each([
    ["cannot be resolved", nobodyAsks],
    ["has no address", resolvingTo()],
  ])("that %s is unavailable", async (_why, resolve) => {
    const fetch = createPublicFetch({ resolve });
    await expect(read(fetch, { url: "https://files.test/" })).rejects.toMatchObject({ reason: "unavailable" });
  });

  it("that takes for ever to resolve is not waited for", async () => {
    const fetch = createPublicFetch({ resolve: () => new Promise(() => {}) });
    const late = read(fetch, { url: "https://files.test/", timeoutMs: 20 });
    await expect(late).rejects.toMatchObject({ reason: "unavailable" });
    const caller = new AbortController();
    const given = read(fetch, { url: "https://files.test/", signal: caller.signal });
    caller.abort(new Error("enough"));
    await expect(given).rejects.toThrow("enough");
  });

  it("that resolves too late is not connected to", async () => {
    const { promise, resolve: answerNow } = Promise.withResolvers<void>();
    let connections = 0;
    const server = createServer(() => {
      connections += 1;
    });
    const listening = Promise.withResolvers<void>();
    server.listen(0, "127.0.0.1", listening.resolve);
    await listening.promise;
    toClose.push(async () => void server.close());
    const address = server.address();
    const port = typeof address === "object" ? address?.port : undefined;
    const resolve: Resolve = async () => {
      await promise;
      return [{ address: "127.0.0.1", family: 4 }];
    };
    const fetch = createPublicFetch({ resolve, allowLoopback: true });
    await expect(read(fetch, { url: `http://localhost:${port}/`, timeoutMs: 20 })).rejects.toThrow();
    answerNow();
    await new Promise((passed) => setTimeout(passed, 50));
    expect(connections).toBe(0);
  });
});

type Spelling = { parts: number; radixes: readonly number[]; zeros: number; dressed: string };

/** As inet_aton reads it: the last part fills what is left, each part in a base of its own. */
function spell(address: readonly number[], { parts, radixes, zeros, dressed }: Spelling): string {
  const [high, low] = [0, 2].map((at) => ((address[at] ?? 0) * 256 + (address[at + 1] ?? 0)).toString(16));
  if (dressed === "mapped") return `[::ffff:${address.join(".")}]`;
  if (dressed === "compatible") return `[::${address.join(".")}]`;
  if (dressed === "nat64") return `[64:ff9b::${address.join(".")}]`;
  if (dressed === "6to4") return `[2002:${high}:${low}::1]`;
  const rest = address.slice(parts - 1).reduce((value, part) => value * 256 + part, 0);
  const values = [...address.slice(0, parts - 1), rest];
  const text = values.map((value, at) => inBase({ value, radix: radixes[at] ?? 10, zeros })).join(".");
  if (dressed === "dot") return `${text}.`;
  if (dressed === "ideographic") return text.replaceAll(".", "。");
  const each = (change: (code: number) => string) => text.replace(/[0-9]/g, (digit) => change(digit.charCodeAt(0)));
  if (dressed === "percent") return each((code) => `%${code.toString(16)}`);
  return dressed === "wide" ? each((code) => String.fromCharCode(code + 0xfee0)) : text;
}

function inBase({ value, radix, zeros }: { value: number; radix: number; zeros: number }): string {
  if (radix === 10) return String(value);
  return `${radix === 16 ? "0X" : "0"}${"0".repeat(zeros)}${value.toString(radix)}`;
}
