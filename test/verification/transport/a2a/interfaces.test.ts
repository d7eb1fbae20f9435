import { describe, expect, it } from "@jest/globals";
import { readCardSchema } from "@sekisho/contracts/a2a/card.ts";
import type { A2aVersion } from "@sekisho/contracts/a2a/operations.ts";
import { listUsableInterfaces } from "@sekisho/verification/transport/a2a/interfaces.ts";

const origin = "https://agent.example";

function chooseInterfaces(
  card: object,
  { url, version }: { url?: string; version?: A2aVersion } = {},
) {
  const usable = listUsableInterfaces({
    card: readCardSchema.parse({ name: "an agent", ...card }),
    cardUrl: new URL(`${origin}/.well-known/agent-card.json`),
    url: url === undefined ? undefined : new URL(url),
    bindings: ["JSONRPC", "HTTP+JSON"],
    version,
  });
  return usable.map((one) => ({ ...one, url: one.url.href }));
}

const over = (protocolVersion: string, more: Record<string, string> = {}) => ({
  url: `${origin}/a2a`,
  protocolBinding: "JSONRPC",
  protocolVersion,
  ...more,
});

describe("the interfaces of a card", () => {
  it("orders interfaces from the highest common version down, and by the card within a version", () => {
    const supportedInterfaces = [
      over("0.3"),
      over("1.0", { url: `${origin}/first` }),
      over("1.0", { url: `${origin}/second` }),
    ];
    expect(
      chooseInterfaces({ supportedInterfaces }).map(({ url, version }) => `${version} ${url}`),
    ).toEqual([`1.0 ${origin}/first`, `1.0 ${origin}/second`, `0.3 ${origin}/a2a`]);
  });

  it.each([
    ["1.0", "1.0"],
    ["1.0.1", "1.0"],
    ["1.7", "1.0"],
    ["1", "1.0"],
    ["0.3", "0.3"],
    ["0.3.0", "0.3"],
    ["0.2.0", "0.3"],
    ["0.2.6", "0.3"],
  ])("calls an interface of version %s in %s", (protocolVersion, version) => {
    expect(chooseInterfaces({ supportedInterfaces: [over(protocolVersion)] })[0]?.version).toBe(
      version,
    );
  });

  it.each(["0.20", "0.30", "2.0", "10.0", "0.1", "latest"])(
    "skips an interface of version %s",
    (protocolVersion) => {
      expect(() => chooseInterfaces({ supportedInterfaces: [over(protocolVersion)] })).toThrow(
        expect.objectContaining({ reason: "version_not_supported", certainty: "undelivered" }),
      );
    },
  );

  it("lists the own address of a 0.3 card, if its transport is usable, and its additional interfaces", () => {
    const old = { protocolVersion: "0.3.0", url: `${origin}/old` };
    expect(chooseInterfaces(old)).toEqual([
      { url: `${origin}/old`, version: "0.3", binding: "JSONRPC", tenant: undefined },
    ]);
    const additionalInterfaces = [{ url: `${origin}/rpc`, transport: "JSONRPC" }];
    expect(
      chooseInterfaces({ ...old, preferredTransport: "GRPC", additionalInterfaces })[0]?.url,
    ).toBe(`${origin}/rpc`);
  });

  it("lists interfaces of 1.0 first for a card of both versions", () => {
    const hybrid = {
      protocolVersion: "0.3",
      url: `${origin}/old`,
      supportedInterfaces: [over("0.3"), over("1.0")],
    };
    expect(chooseInterfaces(hybrid)[0]).toEqual({
      url: `${origin}/a2a`,
      version: "1.0",
      binding: "JSONRPC",
      tenant: undefined,
    });
    expect(chooseInterfaces(hybrid, { version: "0.3" }).map(({ version }) => version)).toEqual([
      "0.3",
      "0.3",
    ]);
  });

  it("orders JSON-RPC before HTTP+JSON within a version", () => {
    const supportedInterfaces = [
      over("0.3", { protocolBinding: "HTTP+JSON" }),
      over("0.3"),
      over("1.0", { protocolBinding: "HTTP+JSON" }),
      over("1.0"),
    ];
    expect(
      chooseInterfaces({ supportedInterfaces }).map(
        ({ version, binding }) => `${version} ${binding}`,
      ),
    ).toEqual(["1.0 JSONRPC", "1.0 HTTP+JSON", "0.3 JSONRPC", "0.3 HTTP+JSON"]);
  });

  it.each([
    { supportedInterfaces: [over("0.3", { protocolBinding: "HTTP+JSON" })] },
    { supportedInterfaces: [over("0.3", { protocolBinding: "http_json" })] },
    { protocolVersion: "0.3.0", url: `${origin}/a2a`, preferredTransport: "HTTP+JSON" },
    {
      ...{ protocolVersion: "0.3.0", url: `${origin}/grpc`, preferredTransport: "GRPC" },
      additionalInterfaces: [{ url: `${origin}/a2a`, transport: "HTTP+JSON" }],
    },
  ])("lists an interface over HTTP+JSON: %j", (card) => {
    expect(chooseInterfaces(card)).toEqual([
      { url: `${origin}/a2a`, version: "0.3", binding: "HTTP+JSON", tenant: undefined },
    ]);
  });

  it.each([
    { supportedInterfaces: [over("1.0", { protocolBinding: "GRPC" })] },
    { protocolVersion: "0.3.0", url: `${origin}/old`, preferredTransport: "GRPC" },
  ])("rejects a card without a usable binding, and names those that are usable: %j", (card) => {
    expect(() => chooseInterfaces(card)).toThrow(
      expect.objectContaining({
        ...{ reason: "version_not_supported", certainty: "undelivered" },
        cause: expect.objectContaining({
          name: "CardOfOtherBinding",
          message: expect.stringContaining("GRPC only, and Sekisho calls it over JSON-RPC or"),
        }),
      }),
    );
  });

  it("rejects a card without any interface", () => {
    expect(() => chooseInterfaces({})).toThrow(
      expect.objectContaining({ reason: "invalid_response", certainty: "undelivered" }),
    );
  });

  it("rejects a card without an interface of the pinned version", () => {
    expect(() =>
      chooseInterfaces({ supportedInterfaces: [over("1.0")] }, { version: "0.3" }),
    ).toThrow(expect.objectContaining({ reason: "version_not_supported" }));
  });

  it.each([
    "https://elsewhere.example/a2a",
    "https://agent.example.elsewhere.example/a2a",
    "https://agent.example:8443/a2a",
    "http://agent.example/a2a",
    "https://user:pass@agent.example/a2a",
    "file:///etc/passwd",
    "//elsewhere.example/a2a",
    "//agent.example/a2a",
    "\\\\elsewhere.example\\a2a",
    "/\\elsewhere.example/a2a",
    "/\t/elsewhere.example/a2a",
    "https:elsewhere.example/a2a",
    "javascript:alert(1)",
    "data:text/plain,a2a",
    "//user:pass@agent.example/a2a",
  ])("sends no credentials to an interface at %s", (url) => {
    const chooseRefused = () => chooseInterfaces({ supportedInterfaces: [over("1.0", { url })] });
    expect(chooseRefused).toThrow(
      expect.objectContaining({ reason: "invalid_response", certainty: "undelivered" }),
    );
    expect(chooseRefused).not.toThrow(/elsewhere|pass/);
  });

  it.each([
    ["/a2a", `${origin}/a2a`],
    ["/a2a/v1?x=1", `${origin}/a2a/v1?x=1`],
    ["../a2a", `${origin}/a2a`],
    ["rpc", `${origin}/.well-known/rpc`],
  ])("resolves the relative address %s against the card's origin", (url, absoluteUrl) => {
    expect(chooseInterfaces({ supportedInterfaces: [over("1.0", { url })] })[0]?.url).toBe(
      absoluteUrl,
    );
    expect(chooseInterfaces({ protocolVersion: "0.3.0", url })[0]?.url).toBe(absoluteUrl);
  });

  it("keeps interfaces at the card's own origin beside foreign ones", () => {
    const supportedInterfaces = [
      over("1.0", { url: "https://elsewhere.example/a2a" }),
      over("0.3"),
    ];
    expect(chooseInterfaces({ supportedInterfaces })[0]).toMatchObject({
      version: "0.3",
      url: `${origin}/a2a`,
    });
  });

  it("uses the configured address with the version and the tenant of the card", () => {
    const supportedInterfaces = [
      over("1.0", { url: "https://elsewhere.example/a2a", tenant: "acme" }),
    ];
    expect(
      chooseInterfaces({ supportedInterfaces }, { url: "https://gateway.example/agent" }),
    ).toEqual([
      { url: "https://gateway.example/agent", version: "1.0", binding: "JSONRPC", tenant: "acme" },
    ]);
  });

  it("keeps only the interfaces of the first tenant", () => {
    const supportedInterfaces = [
      over("1.0", { tenant: "acme" }),
      over("1.0", { tenant: "other-corp", url: `${origin}/other` }),
      over("1.0", { tenant: "acme", url: `${origin}/second` }),
      over("0.3"),
    ];
    expect(chooseInterfaces({ supportedInterfaces })).toEqual([
      { url: `${origin}/a2a`, version: "1.0", binding: "JSONRPC", tenant: "acme" },
      { url: `${origin}/second`, version: "1.0", binding: "JSONRPC", tenant: "acme" },
    ]);
  });
});
