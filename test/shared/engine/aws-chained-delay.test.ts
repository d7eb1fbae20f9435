/** Delays of any length out of SQS's whole seconds up to 900, and texts of any character out of those that SQS takes. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { createDelayFields, escapeSqsText, remainingDelayMs } from "../../../lambdas/shared/engine/aws/sqs-message.ts";

const dayMs = 24 * 3600_000;

describe("a delay", () => {
  it("sends nothing about a delay where there is none", () => {
    for (const delayMs of [0, -1]) expect(createDelayFields({ delayMs, nowMs: 0 })).toEqual({});
    for (const attributes of [undefined, {}]) expect(remainingDelayMs({ attributes, nowMs: 0 })).toBe(0);
  });

  it("is rounded up to whole seconds, and up to 900 of them needs no attribute", () => {
    expect(createDelayFields({ delayMs: 1, nowMs: 0 })).toEqual({ DelaySeconds: 1 });
    expect(createDelayFields({ delayMs: 1001, nowMs: 0 })).toEqual({ DelaySeconds: 2 });
    expect(createDelayFields({ delayMs: 900_000, nowMs: 0 })).toEqual({ DelaySeconds: 900 });
  });

  it("beyond 900 seconds says when the message is due", () => {
    expect(createDelayFields({ delayMs: 900_001, nowMs: 5000 })).toEqual({
      DelaySeconds: 900,
      MessageAttributes: { DueAtMs: { DataType: "Number", StringValue: "905001" } },
    });
  });

  it("is read from a message of the SDK as from one of a Lambda event", () => {
    const nowMs = 1_762_750_300_000;
    const text = String(nowMs + 1500);
    expect(remainingDelayMs({ attributes: { DueAtMs: { StringValue: text } }, nowMs })).toBe(1500);
    expect(remainingDelayMs({ attributes: { DueAtMs: { stringValue: text } }, nowMs })).toBe(1500);
    expect(remainingDelayMs({ attributes: { DueAtMs: { stringValue: text } }, nowMs: nowMs + 1500 })).toBe(0);
  });

  it("counts as over where the attribute is no number, so that the message is handled rather than kept for ever", () => {
    for (const stringValue of ["", "soon", "Infinity", "NaN"]) {
      expect(remainingDelayMs({ attributes: { DueAtMs: { stringValue } }, nowMs: 0 })).toBe(0);
    }
  });

  it("of any length ends at its time, at most a second after it, in steps that SQS takes", () => {
    const delays = fc.oneof(
      fc.integer({ min: 1, max: 3 * 900_000 }),
      fc.double({ min: 0.1, max: 30 * dayMs, noNaN: true }),
    );
    const starts = fc.integer({ min: 1_600_000_000_000, max: 2_000_000_000_000 });
    fc.assert(
      fc.property(delays, starts, (delayMs, startMs) => {
        let nowMs = startMs;
        let leftMs = delayMs;
        let hops = 0;
        for (; leftMs > 0; hops += 1) {
          const { DelaySeconds = 0, MessageAttributes: attributes } = createDelayFields({ delayMs: leftMs, nowMs });
          expect(Number.isInteger(DelaySeconds) && DelaySeconds >= 1 && DelaySeconds <= 900).toBe(true);
          nowMs += DelaySeconds * 1000;
          leftMs = remainingDelayMs({ attributes, nowMs });
        }
        expect(nowMs).toBeGreaterThanOrEqual(startMs + Math.floor(delayMs));
        expect(nowMs).toBeLessThanOrEqual(startMs + delayMs + 1001);
        expect(hops).toBeLessThanOrEqual(Math.ceil(delayMs / 900_000) + 1);
      }),
    );
  });
});

describe("the text that SQS takes", () => {
  /** XML 1.0, section 2.2. */
  const isTaken = (code: number) =>
    [0x9, 0xa, 0xd].includes(code) ||
    (code >= 0x20 && code <= 0xd7ff) ||
    (code >= 0xe000 && code <= 0xfffd) ||
    code >= 0x10000;
  /** Any UTF-16, lone surrogates and noncharacters included. */
  const texts = fc
    .array(fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.constantFrom(0, 0xd83c, 0xdff3, 0xfffe, 0xffff)))
    .map((units) => String.fromCharCode(...units));

  it("means what the JSON meant, whatever text it holds", () => {
    fc.assert(
      fc.property(texts, (text) => {
        const sent = escapeSqsText(JSON.stringify({ text }));
        expect(JSON.parse(sent)).toEqual({ text });
        expect([...sent].every((character) => isTaken(character.codePointAt(0) ?? 0))).toBe(true);
      }),
    );
  });

  it("is left as it is where all of it is taken", () => {
    for (const text of ['{"text":"関所 🏯\t\r\n"}', "", "\u{10ffff}\ue000\ufffd\ud7ff"])
      expect(escapeSqsText(text)).toBe(text);
  });
});
