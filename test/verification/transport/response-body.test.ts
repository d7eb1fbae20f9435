import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "@jest/globals";
import {
  createResponseCollector,
  createShortener,
} from "@sekisho/verification/transport/response-body.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";

/** The JSON without its long strings, given in pieces of `size` bytes. */
function shortenValue(value: unknown, size = 7): unknown {
  const shorten = createShortener();
  const whole = Buffer.from(JSON.stringify(value));
  const pieces = Array.from({ length: Math.ceil(whole.length / size) }, (_, index) =>
    shorten(whole.subarray(index * size, (index + 1) * size)),
  );
  return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(pieces)));
}

describe("JSON without its long strings", () => {
  it("shortens long strings and keeps everything else, for pieces of any size", () => {
    const value = {
      id: "t",
      long: "関".repeat(2000),
      list: [1, null, { short: 'a"\\' }],
      "key ]}": true,
    };
    for (const size of [1, 2, 3, 1000, 100_000]) {
      const { long, ...otherMembers } = shortenValue(value, size) as typeof value;
      expect(otherMembers).toEqual({ id: "t", list: [1, null, { short: 'a"\\' }], "key ]}": true });
      expect(value.long.startsWith(long)).toBe(true);
      expect(long.length).toBe(342);
    }
  });

  it("keeps the structure of the JSON for any strings", () => {
    const unit = fc.constantFrom("a", "関", "😀", "\\", '"', "\u0001", "\ud800");
    const text = fc.string({ unit, minLength: 150, maxLength: 600, size: "max" });
    forAll(fc.jsonValue(), text, fc.integer({ min: 1, max: 600 })).hold((value, long, size) => {
      const whole = JSON.parse(JSON.stringify({ value, long, after: "end" }));
      const { long: cut, ...otherMembers } = shortenValue(whole, size) as typeof whole;
      expect(otherMembers).toEqual({ value: whole.value, after: "end" });
      // An escaped pair may be cut between its halves; its first half is still the text's own.
      expect(whole.long.startsWith(cut)).toBe(true);
    }, 300);
  });
});

/** Of what is still needed. */
function heapUsed(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  return process.memoryUsage().heapUsed;
}

describe("the body of a response", () => {
  const chunk = (bytes: number) => Buffer.from(`"${"x".repeat(bytes - 2)}"`);

  it("needs no extra memory for a body that comes byte by byte", () => {
    const collector = createResponseCollector({ maxBytes: 100_000, shortens: true });
    const heapBefore = heapUsed();
    collector.add(Buffer.from('"'));
    for (let count = 0; count < 1_000_000; count += 1) collector.add(Buffer.from("x"));
    expect(heapUsed() - heapBefore).toBeLessThan(20_000_000);
    collector.add(Buffer.from('"'));
    expect(JSON.parse(Buffer.from(collector.end().body).toString())).toMatch(/^x+$/);
  });

  it("shortens a body only above the limit", () => {
    const collector = createResponseCollector({ maxBytes: 4000, shortens: true });
    collector.add(chunk(4000));
    expect(collector.end()).toEqual({ body: chunk(4000) });
    const larger = createResponseCollector({ maxBytes: 3999, shortens: true });
    larger.add(chunk(4000));
    expect(larger.end()).toEqual({ body: chunk(1026), shortened: true });
  });

  it("stops reading a body that is many times too large or cannot be shortened", () => {
    const text = createResponseCollector({ maxBytes: 2000, shortens: true });
    const [first, more] = [Buffer.from(`"${"x".repeat(1999)}`), Buffer.alloc(2000, "x")];
    text.add(first);
    for (let chunks = 0; chunks < 15; chunks++) text.add(more);
    expect(() => text.add(more)).toThrow(
      expect.objectContaining({ reason: "payload_too_large", certainty: "unread" }),
    );
    const numbers = createResponseCollector({ maxBytes: 2000, shortens: true });
    expect(() => numbers.add(Buffer.from("1,".repeat(1001)))).toThrow("larger");
    const strict = createResponseCollector({ maxBytes: 2000 });
    expect(() => strict.add(chunk(2001))).toThrow("larger");
  });
});
