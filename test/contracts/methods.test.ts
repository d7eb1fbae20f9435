/** The params and results of every method: accepted, refused, dropped and passed through. */
import { describe, expect, it } from "@jest/globals";
import { isLoopbackHost } from "@sekisho/contracts/loopback.ts";
import {
  executeTaskParamsSchema,
  isDedupedId,
  legacyErrorResultSchema,
  methods,
} from "@sekisho/contracts/methods.ts";
import fc from "fast-check";
import { methodCases } from "./method-cases.ts";

describe("the methods", () => {
  it.each(methodCases)(
    "validates $method $side: $name (accepted: $accepted)",
    ({ method, side, value, accepted }) => {
      expect(methods[method][side].safeParse(value).success).toBe(accepted);
    },
  );

  it("drops unknown params on every level", () => {
    const knownNames = { channel: "C1", text: "x", history: [{ role: "user", text: "y" }] };
    const newer = { ...knownNames, newer: 1, history: [{ role: "user", text: "y", newer: 1 }] };
    expect(executeTaskParamsSchema.parse(newer)).toEqual(knownNames);
  });

  it("keeps unknown fields of a result, except one that could become a prototype", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (extra) => {
        for (const knownNames of [
          { status: "success", response_text: "x" },
          { status: "accepted", task_id: "t" },
          { status: "input_required", task_id: "t", prompt: "?" },
        ]) {
          const {
            artifacts,
            attachments,
            usage,
            correlation_id,
            poll_after_ms,
            expires_at,
            progress,
            options,
            ...own
          } = extra;
          const { ["__proto__"]: _prototype, ...passing } = own;
          expect(methods.get_task.result.parse({ ...own, ...knownNames })).toEqual({
            ...passing,
            ...knownNames,
          });
        }
      }),
    );
  });

  it("keeps an accepted value unchanged when it is parsed again", () => {
    for (const { method, side, value } of methodCases.filter((one) => one.accepted)) {
      const once = methods[method][side].parse(value);
      expect(methods[method][side].parse(once)).toEqual(once);
    }
  });

  const optionalFields = [
    [
      "execute_task",
      "params",
      { text: "x" },
      "channel thread_ts team_id user_id correlation_id attachments history session_id timeout_ms callback bot_token context",
    ],
    ["get_task", "params", { task_id: "t" }, "request_id wait_ms"],
    ["cancel_task", "params", { request_id: "r" }, "task_id reason"],
    ["answer_task", "params", { task_id: "t", option_id: "yes" }, "text user_id question_id"],
    [
      "get_task",
      "result",
      { status: "success", response_text: "" },
      "attachments artifacts usage correlation_id",
    ],
    [
      "get_task",
      "result",
      { status: "accepted", task_id: "t" },
      "poll_after_ms expires_at progress",
    ],
    [
      "get_task",
      "result",
      { status: "input_required", task_id: "t", prompt: "" },
      "options kind question_id expires_at",
    ],
  ] as const;

  it.each(
    optionalFields.flatMap(([method, side, value, names]) =>
      names.split(" ").map((name) => ({ method, side, value, name })),
    ),
  )(
    "reads null and the empty text as absent: $name of $method $side",
    ({ method, side, value, name }) => {
      for (const absent of [null, ""]) {
        expect(methods[method][side].parse({ ...value, [name]: absent })).toEqual(value);
      }
    },
  );

  it.each([
    ["history", [{ role: "user", text: "hi" }], { name: "", bot: null }],
    ["context", { channel_kind: "public" }, { channel_name: null, channel_topic: "", open: null }],
  ])("reads null and the empty text in an entry of %s as absent", (name, value, unsetValues) => {
    const withUnset = Array.isArray(value)
      ? value.map((item) => ({ ...item, ...unsetValues }))
      : { ...value, ...unsetValues };
    expect(methods.execute_task.params.parse({ text: "x", [name]: withUnset })).toEqual({
      text: "x",
      [name]: value,
    });
  });

  it("reads the empty text of an artifact as an empty file, and null as no content", () => {
    const success = (artifact: object) => ({
      status: "success",
      response_text: "",
      artifacts: [artifact],
    });
    const parse = (artifact: object) => methods.get_task.result.parse(success(artifact));
    expect(parse({ name: "a", text: "" })).toEqual(success({ name: "a", text: "" }));
    expect(parse({ name: "a", base64: "" })).toEqual(success({ name: "a", base64: "" }));
    expect(parse({ name: "a", text: null, base64: null, data: 1 })).toEqual(
      success({ name: "a", data: 1 }),
    );
  });

  it("keeps values out of issues, so that no text of a user reaches an error", () => {
    const secret = "the-text-of-a-user";
    const refusal = methods.execute_task.params.safeParse({
      channel: { [secret]: secret },
      text: Array(3).fill(secret),
      thread_ts: secret,
      session_id: secret,
      attachments: [{ url: `http://${secret}` }],
    });
    expect(refusal.success).toBe(false);
    const issues = refusal.error?.issues.map(({ path, message }) => ({
      path: path.join("."),
      message,
    }));
    expect(JSON.stringify(issues)).not.toContain(secret);
  });
});

describe("ids and hosts", () => {
  it.each([
    ["0189d2c4-7a5e-5000-8000-000000000001", true],
    ["0189D2C4-7A5E-5000-8000-000000000001", true],
    ["0189d2c4", false],
    [" 0189d2c4-7a5e-5000-8000-000000000001", false],
    ["", false],
    [7, false],
  ])("decides whether to deduplicate the id %p: %p", (id, deduplicated) => {
    expect(isDedupedId(id)).toBe(deduplicated);
  });

  it.each([
    ["localhost", true],
    ["127.0.0.1", true],
    ["127.255.0.9", true],
    ["[::1]", true],
    ["0.0.0.0", false],
    ["128.0.0.1", false],
    ["127.0.0.1.example.com", false],
    ["localhost.example.com", false],
    ["10.0.0.1", false],
  ])("decides whether the host %s is loopback: %p", (host, loopback) => {
    expect(isLoopbackHost(host)).toBe(loopback);
  });

  it("accepts the failure that existing agents report as a success, with and without its texts", () => {
    for (const error_code of ["E_TIMEOUT", -32001, undefined]) {
      expect(
        legacyErrorResultSchema.safeParse({ status: "error", error_code, error_message: "x" })
          .success,
      ).toBe(true);
    }
    expect(legacyErrorResultSchema.safeParse({ status: "error" }).success).toBe(true);
    expect(
      legacyErrorResultSchema.safeParse({ status: "success", response_text: "x" }).success,
    ).toBe(false);
  });
});
