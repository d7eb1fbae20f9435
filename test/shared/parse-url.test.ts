import { describe, expect, it } from "@jest/globals";
import { parseUrl } from "../../lambdas/shared/untrusted-input.ts";

const longHost = "a".repeat(501);

describe("a URL that somebody else chose", () => {
  it.each([
    ["after a scheme", `https://${longHost}/`],
    ["with a path", `http://${longHost}/path?query#fragment`],
    ["without slashes", `https:${longHost}`],
    ["with backslashes", `https:\\\\${longHost}\\a`],
    ["after blanks", `  https://${longHost}/`],
    ["after line breaks in the scheme", `ht\ntps:/\t/${longHost}/`],
    ["of a web socket", `WSS://${longHost}/`],
    ["of a file", `file://${longHost}/`],
    ["after a user", `https://user@${longHost}/`],
  ])("is not parsed where its host is too long: %s", (_what, address) => {
    expect(URL.parse(address)).not.toBeNull();
    expect(parseUrl(address)).toBeNull();
  });

  it("is not parsed where a relative one begins with a long host", () => {
    expect(URL.parse(`//${longHost}/a`, "https://files.example/")).not.toBeNull();
    expect(parseUrl(`//${longHost}/a`, "https://files.example/")).toBeNull();
  });

  it.each([
    ["a host as long as the DNS allows", `https://${"a.".repeat(123)}example/`, undefined],
    ["a long path", `https://files.example/${longHost}`, undefined],
    ["a long query", `https://files.example?${longHost}`, undefined],
    ["a long relative path", `/${longHost}`, "https://files.example/"],
    ["a mail address", `mailto:somebody@mail.example?body=${longHost}`, undefined],
  ])("is parsed as ever with %s", (_what, address, base) => {
    expect(parseUrl(address, base)?.href).toBe(new URL(address, base).href);
  });

  it("is null where it is none", () => {
    expect(parseUrl("nowhere")).toBeNull();
  });
});
