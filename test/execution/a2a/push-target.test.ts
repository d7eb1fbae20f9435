/** What a push configuration must be like before it is kept. */
import { validateHeaderValue } from "node:http";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { pushTargetIssues } from "../../../lambdas/execution/a2a/push-configs.ts";

const fit = { url: "https://client.example/hook?key=1" };

function pathsOf(config: Parameters<typeof pushTargetIssues>[0]["config"], allowLoopback = false): string[] {
  return pushTargetIssues({ config, allowLoopback }).map(({ path }) => path);
}

describe("the address of a receiver", () => {
  it("may be the name of a host, which is looked up when something is to be told", () => {
    expect(pathsOf(fit)).toEqual([]);
  });

  it.each([
    ["is no URL", "client.example"],
    ["is http", "http://client.example/hook"],
    ["is http to a public address", "http://93.184.215.14/hook"],
    ["is another scheme's", "ftp://client.example/hook"],
    ["holds a user", "https://user@client.example/hook"],
    ["has a host that is too long to read", `https://${"a.".repeat(300)}example/hook`],
    ["holds a password", "https://:secret@client.example/hook"],
    ["is a literal address", "https://93.184.215.14:8443/hook"],
    ["is a literal address of IPv6", "https://[2606:2800:220:1::1]/hook"],
    ["names this machine", "https://localhost/hook"],
    ["names this machine with a dot", "https://localhost./hook"],
    ["names this machine below localhost", "https://agent.localhost/hook"],
    ["is this machine's", "http://127.0.0.1/hook"],
    ["is this machine's in another spelling", "https://0x7f.1/hook"],
    ["is this machine's in IPv6", "https://[::1]/hook"],
    ["is this machine's, mapped", "https://[::ffff:127.0.0.1]/hook"],
    ["is of a private network", "https://10.1.2.3/hook"],
    ["is the metadata service", "https://169.254.169.254/latest"],
    ["is of a private network in IPv6", "https://[fd00::1]/hook"],
  ])("is refused where it %s", (_what, url) => {
    expect(pathsOf({ url })).toEqual(["url"]);
  });

  it("may be this machine's, and by http, only where that is allowed; no other network becomes public by it", () => {
    for (const url of ["http://127.0.0.1:4000/hook", "http://localhost/hook", "https://[::1]/hook"]) {
      expect(pathsOf({ url }, true)).toEqual([]);
    }
    for (const url of ["http://10.1.2.3/hook", "https://10.1.2.3/hook", "http://client.example/hook"]) {
      expect(pathsOf({ url }, true)).toEqual(["url"]);
    }
  });

  it("is not repeated in the issue", () => {
    const issues = pushTargetIssues({ config: { url: "http://hunter2.example/hunter2" }, allowLoopback: false });
    expect(JSON.stringify(issues)).not.toContain("hunter2");
  });
});

describe("a token or credentials", () => {
  it.each([["\r\nX-Admin: 1"], ["a\nb"], ["a\u0000b"], ["a\u007fb"], [" a"], ["a "], ["\t"], ["関所"]])(
    "are refused where they could be more than one header: %j",
    (text) => {
      expect(pathsOf({ ...fit, token: text })).toEqual(["token"]);
      const authentication = { scheme: "Bearer", credentials: text };
      expect(pathsOf({ ...fit, authentication })).toEqual(["authentication.credentials"]);
    },
  );

  it("that are taken are a header's value as they stand", () => {
    const text = fc.oneof(fc.string({ unit: "grapheme-ascii" }), fc.string({ unit: "binary", maxLength: 3 }));
    fc.assert(
      fc.property(text, (token) => {
        const isTaken = pathsOf({ ...fit, token }).length === 0;
        expect(isTaken).toBe(/^[ -~]+$/.test(token) && token.trim() === token);
        if (isTaken) expect(new Headers({ token }).get("token")).toBe(token);
        if (isTaken) validateHeaderValue("x-a2a-notification-token", token);
      }),
    );
  });
});
