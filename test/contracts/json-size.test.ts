/** A value that may be large is measured exactly, and one that is surely small is not written. */
import { describe, expect, it } from "@jest/globals";
import { isJsonWithin } from "@sekisho/contracts/json-size.ts";
import fc from "fast-check";

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

/** JSON, and members that JSON leaves out or writes in its own way. */
const { value: anyValue } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.string({ unit: "binary" }),
    fc.double(),
    fc.constantFrom(null, true, "\u0001", "\ud800", Number.MIN_VALUE, -Number.MAX_VALUE),
    fc.date({ noInvalidDate: true }),
    fc.array(fc.oneof(tie("value"), fc.constant(undefined))),
    fc.dictionary(fc.string({ unit: "binary" }), fc.oneof(tie("value"), fc.constant(undefined))),
  ),
}));

describe("a value within a limit of bytes as JSON", () => {
  it("measures the size of any JSON value to the byte", () => {
    fc.assert(
      fc.property(anyValue, fc.integer({ min: -3, max: 3 }), (value, more) => {
        const bytes = bytesOf(value);
        expect(isJsonWithin({ value, maxBytes: bytes + more })).toBe(more >= 0);
      }),
    );
  });

  it("accepts any value within a much larger limit", () => {
    fc.assert(
      fc.property(anyValue, fc.nat({ max: 1000 }), (value, more) => {
        expect(isJsonWithin({ value, maxBytes: bytesOf(value) + more })).toBe(true);
      }),
    );
  });

  it("does not serialize a value that is surely small", () => {
    let isRead = false;
    const value = {
      text: "small",
      get again() {
        if (isRead) throw new Error("it was written");
        isRead = true;
        return "small";
      },
    };
    expect(isJsonWithin({ value, maxBytes: 1000 })).toBe(true);
    expect(() => isJsonWithin({ value, maxBytes: 20 })).toThrow("it was written");
  });
});
