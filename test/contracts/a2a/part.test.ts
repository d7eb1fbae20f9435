/** Parts, messages and tasks of A2A 1.0: accepted, read as absent, and refused. */
import { describe, expect, it } from "@jest/globals";
import { joinTextParts, messageSchema, partSchema } from "@sekisho/contracts/a2a/part.ts";
import {
  a2aStateSchema,
  a2aTaskSchema,
  fromA2aState,
  toA2aState,
} from "@sekisho/contracts/a2a/task.ts";
import fc from "fast-check";
import { issuesOf, spoil, task, wire } from "./arbitraries.ts";

/** A list in a list, `depth` times. */
const nest = (depth: number): unknown => JSON.parse("[".repeat(depth) + "]".repeat(depth));

describe("a part", () => {
  it.each<[string, object, object]>([
    ["an empty text", { text: "" }, { text: "" }],
    ["null as data", { data: null }, { data: null }],
    ["false as data", { data: false }, { data: false }],
    ["data 100 deep", { data: nest(100) }, { data: nest(100) }],
    ["bytes", { raw: "YQ==" }, { raw: "YQ==" }],
    ["no bytes", { raw: "" }, { raw: "" }],
    ["unpadded base64url bytes", { raw: "_-8" }, { raw: "/+8=" }],
    ["a text beside unset contents", { text: "a", raw: null, url: null }, { text: "a" }],
    [
      "empty names, which are unset",
      { url: "u", mediaType: "", filename: null, metadata: null },
      { url: "u" },
    ],
    ["unknown members", { text: "a", kind: "text" }, { text: "a" }],
  ])("accepts a part with %s", (_name, part, wirePart) => {
    expect(wire(partSchema.parse(part))).toEqual(wirePart);
  });

  it.each<[string, unknown, string]>([
    ["no content", {}, ""],
    ["no content but a name", { filename: "a" }, ""],
    ["two contents", { text: "a", url: "u" }, ""],
    ["two contents of which one is null data", { text: "a", data: null }, ""],
    ["an empty address", { url: "" }, "url"],
    ["bytes that are not base64", { raw: "a b" }, "raw"],
    ["truncated base64 bytes", { raw: "YWJjZ" }, "raw"],
    ["a text that is a number", { text: 1 }, "text"],
    ["a name that is too long", { text: "a", filename: "x".repeat(256) }, "filename"],
    ["metadata that is a list", { text: "a", metadata: [] }, "metadata"],
    ["data of 101 levels", { data: nest(101) }, "data"],
    ["metadata 102 deep", { text: "a", metadata: { a: nest(101) } }, "metadata.a"],
  ])("refuses a value with %s", (_name, part, path) => {
    expect(issuesOf(partSchema.safeParse(part)).map((issue) => issue.path)).toContain(path);
  });

  it("refuses a part with very many padding characters at once", () => {
    expect(partSchema.safeParse({ raw: `${"=".repeat(200_000)}x` }).success).toBe(false);
  });

  it("joins the texts of parts, one per line", () => {
    expect(joinTextParts([{ text: "a" }, { url: "u" }, { text: "" }, { text: "b" }])).toBe(
      "a\n\nb",
    );
  });
});

describe("a message", () => {
  const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "a" }] };

  it("omits empty ids and lists of a message", () => {
    const params = {
      ...message,
      contextId: "",
      taskId: null,
      extensions: [],
      referenceTaskIds: null,
    };
    expect(wire(messageSchema.parse(params))).toEqual(message);
  });

  it.each<[string, object, string]>([
    ["no id", { messageId: undefined }, "messageId"],
    ["an empty id", { messageId: "" }, "messageId"],
    ["an id of 257 characters", { messageId: "x".repeat(257) }, "messageId"],
    ["no parts", { parts: [] }, "parts"],
    ["101 parts", { parts: Array.from({ length: 101 }, () => ({ text: "a" })) }, "parts"],
    ["a part without content", { parts: [{ text: "a" }, {}] }, "parts.1"],
    ["the role of 0.3", { role: "user" }, "role"],
    ["no role", { role: "ROLE_UNSPECIFIED" }, "role"],
    ["51 extensions", { extensions: Array.from({ length: 51 }, () => "urn:a") }, "extensions"],
    ["an empty id among its references", { referenceTaskIds: [""] }, "referenceTaskIds.0"],
  ])("refuses a value with %s", (_name, change, path) => {
    expect(
      issuesOf(messageSchema.safeParse({ ...message, ...change })).map((issue) => issue.path),
    ).toEqual([path]);
  });
});

describe("a task", () => {
  const bare = { id: "t", status: { state: "TASK_STATE_WORKING" } };

  it("accepts a task without a context and with null members", () => {
    const unsetValues = { contextId: null, artifacts: null, history: null, metadata: null };
    const status = { ...bare.status, message: null, timestamp: "" };
    expect(wire(a2aTaskSchema.parse({ ...bare, ...unsetValues, status }))).toEqual({
      ...bare,
      contextId: "",
    });
  });

  it.each(["TASK_STATE_UNSPECIFIED", "TASK_STATE_NEW", "working", "toString", 2, null])(
    "refuses a task in the unknown state %p",
    (state) => {
      const result = a2aTaskSchema.safeParse({ ...bare, status: { state } });
      expect(issuesOf(result).map(({ path }) => path)).toEqual(["status.state"]);
    },
  );

  it("reads or refuses any task, and reads its own output unchanged", () => {
    fc.assert(
      fc.property(spoil(task), (answer) => {
        const { data, success } = a2aTaskSchema.safeParse(answer);
        if (success) expect(wire(a2aTaskSchema.parse(wire(data)))).toEqual(wire(data));
      }),
      { numRuns: 100 },
    );
  });
});

it.each(a2aStateSchema.options)(
  "converts a task state to the zone contract and back unchanged: %s",
  (state) => {
    expect(toA2aState(fromA2aState(state))).toBe(state);
  },
);
