/** The address at which a person signs in: only one that leads where it seems to. */
import { describe, expect, it } from "@jest/globals";
import { findRuleProblem } from "@sekisho/contracts/answer-rules.ts";
import { normalizeSignInUrl, signInUrlSchema } from "@sekisho/contracts/sign-in.ts";

const isAccepted = (url: unknown) => signInUrlSchema.safeParse(url).success;
const longUrl = (length: number) => `https://a.example/${"x".repeat(length)}`.slice(0, length);

describe("the address of a question", () => {
  it.each([
    "https://a.example",
    "https://a.example/authorize?client_id=1&state=a%20b&redirect_uri=https://b.example/c",
    "https://a.example:8443/#start",
    "https://xn--pple-43d.example/",
    "https://[2001:db8::1]/",
    "https://127.0.0.1/",
    "http://localhost:8080/start",
    "http://127.0.0.1/",
    "http://[::1]:3000/",
    longUrl(3000),
  ])("accepts an address that leads where it seems to: %s", (url) => {
    expect(isAccepted(url)).toBe(true);
  });

  it.each([
    ["a script", "javascript:alert(1)"],
    ["a script behind a host", "javascript://a.example/%0aalert(1)"],
    ["data", "data:text/html,<script>alert(1)</script>"],
    ["a file", "file:///etc/passwd"],
    ["plain http", "http://a.example/"],
    ["plain http to a name that begins like this machine", "http://127.0.0.1.a.example/"],
    ["plain http to a name that begins like localhost", "http://localhost.a.example/"],
    ["plain http to another number of this machine", "http://2130706433/"],
    ["a user", "https://user@a.example/"],
    ["a user and a password", "https://user:secret@a.example/"],
    ["a user that looks like a host", "https://bank.example@a.example/"],
    ["an empty user", "https://@a.example/"],
    ["another script in the host", "https://аpple.example/"],
    ["wide letters in the host", "https://ａ.example/"],
    ["a slash of another script", "https://bank.example／a.example/"],
    ["a percent sign in the host", "https://bank%2eexample/"],
    ["formatting in the host", "https://*bank*.example/"],
    ["code in the host", "https://`bank`.example/"],
    ["a backslash", "https://a.example\\@b.example/"],
    ["a label of Slack", "https://a.example/|https://bank.example"],
    ["the end of Slack's notation", "https://a.example/>"],
    ["a blank", "https://a.example/ b"],
    ["a line end", "https://a.example/\nb"],
    ["a line end behind it", "https://a.example/\n"],
    ["a tabulator", "https://a.exam\tple/"],
    ["a NUL", "https://a.example/\0"],
    ["an invisible character", "https://a.example/\u202Egpj"],
    ["no host", "https:///a.example"],
    ["no slashes", "https:a.example"],
    ["a port that cannot be", "https://a.example:99999/"],
    ["an address that cannot be", "https://[::1::1]/"],
    ["a host that no name can be", `https://bank.example.${"a.".repeat(120)}evil.example/`],
    ["a label that no name can have", `https://${"a".repeat(64)}.example/`],
    ["3,001 characters", longUrl(3001)],
    [
      "3,000 characters that a browser writes as more",
      longUrl(2999).concat("'").replace("/x", "/?"),
    ],
    ["no text", 1],
  ])("refuses %s", (_what, url) => {
    expect(isAccepted(url)).toBe(false);
  });

  it("never repeats the address in an error", () => {
    for (const url of [
      "https://user:hunter2@a.example/",
      `https://a.example/${"hunter2".repeat(600)}`,
    ])
      expect(JSON.stringify(signInUrlSchema.safeParse(url).error?.issues)).not.toContain("hunter2");
  });

  it("writes the address as a browser reads it", () => {
    expect(normalizeSignInUrl("https://A.EXAMPLE/a/../b?c='d'")).toBe(
      "https://a.example/b?c=%27d%27",
    );
  });
});

describe("the rules of a question", () => {
  const options = [{ id: "y", label: "Yes" }];
  const url = "https://a.example/";

  it.each([
    {},
    { kind: "auth", url },
    { kind: "auth", url, answerers: "asker" },
    { options, approvals: 2 },
    { options, approvals: 2, answerers: "not-asker" },
    { options, approvals: 1, answerers: "asker" },
    { answerers: { group: "S1" } },
  ] as const)("can be followed: %j", (rules) => {
    expect(findRuleProblem(rules)).toBeUndefined();
  });

  it.each([
    ["url", { url }],
    ["answerers", { kind: "auth", url, answerers: "anyone" }],
    ["answerers", { kind: "auth", url, answerers: { group: "S1" } }],
    ["approvals", { approvals: 2, options: [{ style: "danger" }] }],
    ["approvals", { approvals: 2 }],
    ["approvals", { kind: "auth", url, approvals: 2 }],
    ["approvals", { kind: "auth", options, approvals: 2 }],
    ["approvals", { options, approvals: 2, answerers: "asker" }],
  ] as const)("name the member that nobody could follow: %s of %j", (path, rules) => {
    expect(findRuleProblem(rules)?.path).toBe(path);
  });
});
