import { describe, expect, it } from "@jest/globals";
import { isSlackFileUrl } from "../../../lambdas/verification/files/files.ts";

const realApi = "https://slack.com/api/";
const localApi = "http://127.0.0.1:8123/api/";

describe("an address that may see the bot token", () => {
  it.each([
    "https://files.slack.com/files-pri/T1-F1/a.png",
    "https://files.slack.com/files-pri/T1-F1/download/a.png",
    "https://files-origin.slack.com/files-pri/T1-F1/a.png",
    "https://slack.com/files-pri/T1-F1/a.png",
    "https://slack-files.com/T1-F1-abc",
    "https://team.slack-files.com/files-pri/T1-F1/a.png",
    "https://files.slack-gov.com/files-pri/T1-F1/a.png",
    "https://files.slack.com:443/files-pri/T1-F1/a.png",
  ])("is %s", (url) => {
    expect(isSlackFileUrl({ url: new URL(url), apiUrl: realApi })).toBe(true);
  });

  it.each([
    ["without TLS", "http://files.slack.com/files-pri/T1-F1/a.png"],
    ["on another port", "https://files.slack.com:8443/files-pri/T1-F1/a.png"],
    ["with somebody's name in it", "https://files.slack.com@evil.example/a.png"],
    ["with a password in it", "https://u:p@files.slack.com/files-pri/T1-F1/a.png"],
    ["that only begins like Slack", "https://files.slack.com.evil.example/a.png"],
    ["that only ends like Slack", "https://evilslack-files.com/a.png"],
    ["where Slack asks to sign in", "https://slack.com/?redir=%2Ffiles-pri%2FT1-F1%2Fa.png"],
    ["of a workspace, where one signs in", "https://team.slack.com/files-pri/T1-F1/a.png"],
    ["of a file that is not Slack's", "https://docs.google.com/document/d/1"],
    ["on this machine", "http://127.0.0.1:8123/files-pri/T1-F1/a.png"],
    ["that is no web address", "file:///etc/passwd"],
  ])("is none %s", (_what, url) => {
    expect(isSlackFileUrl({ url: new URL(url), apiUrl: realApi })).toBe(false);
  });

  it("is, where Slack is a fake Slack on this machine, the fake Slack's own and no other", () => {
    const may = (url: string) => isSlackFileUrl({ url: new URL(url), apiUrl: localApi });
    expect(may("http://127.0.0.1:8123/anything")).toBe(true);
    expect(may("http://127.0.0.1:8124/anything")).toBe(false);
    expect(may("http://localhost:8123/anything")).toBe(false);
    expect(may("https://files.slack.com/files-pri/T1-F1/a.png")).toBe(false);
  });

  it("is not the origin of an API address that is not on this machine", () => {
    const url = new URL("https://slack.example/files-pri/T1-F1/a.png");
    expect(isSlackFileUrl({ url, apiUrl: "https://slack.example/api/" })).toBe(false);
  });
});
