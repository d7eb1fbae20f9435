import { describe, expect, it } from "@jest/globals";
import { detectMimetype, isSignInPage } from "../../../lambdas/verification/files/attachments.ts";
import { gif, pdf, png, zip } from "./sample-files.ts";

const text = (words: string) => Buffer.from(words, "utf8");

describe("the type of a file", () => {
  it.each([
    ["a picture that is said to be another", gif, "image/png", "image/gif"],
    ["a document that is said to be text", pdf, "text/plain", "application/pdf"],
    ["an archive that is said to be a picture", zip, "image/png", "application/zip"],
    ["text that is said to be a picture", text("hello"), "image/png", "text/plain"],
    [
      "a program that is said to be text",
      Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0, 0, 0, 0]),
      "text/csv",
      "application/x-elf",
    ],
    ["bytes that are said to be text", Buffer.from([1, 2, 3, 0, 5]), "text/plain", "application/octet-stream"],
    ["bytes that are said to be a picture", Buffer.from([1, 2, 3, 0, 5]), "image/png", "application/octet-stream"],
    ["text of which nothing is known", text("hello"), "application/octet-stream", "text/plain"],
    ["text that is said to be a spreadsheet", text("a,b\n1,2\n"), "application/vnd.ms-excel", "text/plain"],
    ["what is said to be no type at all", png, "x\r\ny: z", "image/png"],
  ])("is what the bytes say: %s", async (_what, bytes, said, expected) => {
    expect(await detectMimetype({ bytes, said })).toBe(expected);
  });

  it.each([
    ["a table", text("a,b\n1,2\n"), "text/csv"],
    ["a program", text("#!/bin/sh\necho\n"), "application/x-sh"],
    ["JSON", text("{}"), "application/json"],
    ["a drawing", text('<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>'), "image/svg+xml"],
    ["a page", text("<!doctype html><p>hello"), "text/html"],
    ["an office document in a form that nobody knows", zip, "application/vnd.example.sheet"],
    ["bytes of a kind that has no signature", Buffer.from([1, 2, 3, 0, 5]), "application/x-fortran-data"],
    ["nothing", new Uint8Array(), "text/plain"],
    ["Japanese in Shift_JIS", Buffer.from([0x8a, 0xd6, 0x8f, 0x8a, 0x0d, 0x0a]), "text/csv"],
    ["text in UTF-16", Buffer.from("\ufeffa,b", "utf16le"), "text/csv"],
  ])("is what Slack says where the bytes agree: %s", async (_what, bytes, said) => {
    expect(await detectMimetype({ bytes, said: said.toUpperCase() })).toBe(said);
  });
});

describe("a page to sign in, in the place of a file", () => {
  const page = text("\ufeff<!-- Slack -->\n<!DOCTYPE html><html><title>Sign in</title>");

  it("is known by its header, or by its beginning where a file has another", () => {
    const image = { bytes: page, said: "image/png", name: "a.png" };
    expect(isSignInPage({ ...image, contentType: "text/html; charset=utf-8" })).toBe(true);
    expect(isSignInPage({ ...image, contentType: "image/png" })).toBe(true);
    expect(isSignInPage({ bytes: page, said: "text/plain", name: "a.txt", contentType: "Text/HTML" })).toBe(true);
  });

  it("is not a page that somebody sent, nor a text that begins like one, nor a picture", () => {
    expect(isSignInPage({ bytes: page, said: "text/html", name: "a", contentType: "text/html" })).toBe(false);
    expect(isSignInPage({ bytes: page, said: "text/plain", name: "a.HTM", contentType: "text/html" })).toBe(false);
    expect(isSignInPage({ bytes: page, said: "text/plain", name: "a.vue", contentType: "text/plain" })).toBe(false);
    expect(isSignInPage({ bytes: png, said: "image/png", name: "a.png", contentType: "image/png" })).toBe(false);
  });
});
