/** Records say the version that wrote them, and what a newer one wrote is kept or left to it. */
import { describe, expect, it } from "@jest/globals";
import { leaveToNewerVersion } from "@sekisho/runtime/engine/leave-to-newer.ts";
import {
  checkRecord,
  isNewerRecord,
  NewerRecordError,
  recordVersion,
} from "@sekisho/runtime/engine/record-version.ts";
import { ItemError, readItem, writeItem } from "@sekisho/runtime/engine/records.ts";
import * as z from "zod";

const schema = z.object({ id: z.string(), part: z.object({ state: z.enum(["old"]) }) });
const parse = (json: unknown) => checkRecord({ schema, json });
const readValue = (json: object) => readItem({ text: JSON.stringify(json), parse });
const knownItem = { id: "a", part: { state: "old" } };

describe("a record", () => {
  it("writes its version into a record and hides it from the reader", () => {
    const text = writeItem(knownItem);
    expect(JSON.parse(text)).toEqual({ ...knownItem, recordVersion });
    expect(readItem({ text, parse })).toEqual(knownItem);
  });

  it("keeps fields of a newer version at every depth", () => {
    const newer = { ...knownItem, more: 1, part: { state: "old", more: 2 } };
    expect(JSON.parse(writeItem(readValue({ ...newer, recordVersion: "1.7.0" })))).toEqual({
      ...newer,
      recordVersion,
    });
  });

  it.each(["", " ", "\n"])(
    "reads a record with its version in any place and with white space: %j",
    (space) => {
      const texts = [
        `{"recordVersion":"${recordVersion}","id":"a","part":{"state":"old"}${space}}`,
      ];
      texts.push(
        `{"id":"a","part":{"state":"old"},${space}"recordVersion":"${recordVersion}"${space}}`,
      );
      for (const text of texts) expect(readItem({ text, parse })).toEqual(knownItem);
    },
  );

  it("keeps a string that looks like the version field", () => {
    const item = { id: `,"recordVersion":"${recordVersion}"}`, part: { state: "old" } };
    expect(readItem({ text: writeItem(item), parse })).toEqual(item);
    const last = { part: { state: "old" }, id: `,"recordVersion":"${recordVersion}"}` };
    expect(readItem({ text: writeItem(last), parse })).toEqual(last);
  });

  it("leaves a record to the newer version if it is unreadable or of a newer major version", () => {
    const other = { id: "a", part: { state: "new" } };
    expect(() => readValue({ ...other, recordVersion: "1.0.1" })).toThrow(NewerRecordError);
    expect(() => readValue({ ...knownItem, recordVersion: "2.0.0" })).toThrow(NewerRecordError);
    expect(() => readValue({ ...knownItem, recordVersion: "10.0.0" })).toThrow(NewerRecordError);
  });

  it.each([recordVersion, "0.9.9", "nonsense", undefined])(
    "rejects an unreadable record with the version %s as broken",
    (version) => {
      expect(() => readValue({ id: 1, recordVersion: version })).toThrow(ItemError);
    },
  );

  it("recognizes a newer record behind the errors that it caused", () => {
    expect(isNewerRecord(new Error("x", { cause: new NewerRecordError() }))).toBe(true);
    expect(isNewerRecord(new Error("x"))).toBe(false);
  });
});

describe("a message for a newer version", () => {
  const dayMs = 24 * 3600_000;

  async function leave(message: object, nowMs: number, notBeforeMs?: number) {
    const sentMessages: { body: string; delayMs?: number; group?: string }[] = [];
    const send = async (request: (typeof sentMessages)[number]) => void sentMessages.push(request);
    const body = JSON.stringify(message);
    const isLeft = await leaveToNewerVersion({
      queue: { send },
      body,
      group: "g",
      notBeforeMs,
      nowMs,
    });
    return {
      isLeft,
      sent: sentMessages.map((one) => ({ ...one, body: JSON.parse(one.body) as object })),
    };
  }

  it("sends a message for a newer version again unchanged after a short delay", async () => {
    const { isLeft, sent: sentMessages } = await leave({ type: "new", more: 1 }, 1000);
    expect(isLeft).toBe(true);
    expect(sentMessages).toEqual([
      { body: { type: "new", more: 1, leftSinceMs: 1000 }, delayMs: 5000, group: "g" },
    ]);
  });

  it("sends a message less often the longer it has waited, and not before a lease has ended", async () => {
    expect((await leave({ leftSinceMs: 0 }, 100_000)).sent).toEqual([
      { body: { leftSinceMs: 0 }, delayMs: 10_000, group: "g" },
    ]);
    expect((await leave({ leftSinceMs: 0 }, dayMs)).sent[0]?.delayMs).toBe(300_000);
    expect((await leave({}, 0, 60_000)).sent[0]?.delayMs).toBe(60_000);
  });

  it("gives up a message for a newer version after a week", async () => {
    expect(await leave({ leftSinceMs: 0 }, 7 * dayMs + 1)).toEqual({ isLeft: false, sent: [] });
  });
});
