/** Params by the names of the proto file, and by names of the other version. */
import { expect, it } from "@jest/globals";
import type { A2aTask } from "@sekisho/contracts/a2a/task.ts";
import { readMemberNames } from "@sekisho/execution/a2a/member-names.ts";
import { serveA2a, userMessage } from "./a2a-host.ts";

it("renames proto names at every depth, and keeps metadata and data", () => {
  const { params, issues } = readMemberNames({
    version: "1.0",
    params: {
      message: {
        message_id: "m",
        context_id: "c",
        parts: [{ media_type: "a/b", data: { my_key: 1 } }],
      },
      configuration: { history_length: 2, task_push_notification_config: { url: "u" } },
      metadata: { my_key: { other_key: 1 } },
    },
  });
  expect(issues).toEqual([]);
  expect(params).toEqual({
    message: { messageId: "m", contextId: "c", parts: [{ mediaType: "a/b", data: { my_key: 1 } }] },
    configuration: { historyLength: 2, taskPushNotificationConfig: { url: "u" } },
    metadata: { my_key: { other_key: 1 } },
  });
});

it("reports a member with both names, and a member that the other version names differently", () => {
  const issuesOf = (params: unknown, version: "1.0" | "0.3") =>
    readMemberNames({ params, version }).issues;
  expect(issuesOf({ task_id: "a", taskId: "b" }, "1.0")).toEqual([
    { path: ["task_id"], message: "is taskId again" },
  ]);
  expect(issuesOf({ configuration: { blocking: false } }, "1.0")).toEqual([
    { path: ["configuration", "blocking"], message: "is called returnImmediately in A2A 1.0" },
  ]);
  expect(issuesOf({ configuration: { return_immediately: true } }, "0.3")).toEqual([
    { path: ["configuration", "return_immediately"], message: "is called blocking in A2A 0.3" },
  ]);
  expect(issuesOf({ metadata: { blocking: true }, x: null, y: [1, "a"] }, "1.0")).toEqual([]);
});

it("a host accepts proto names, such as history_length", async () => {
  const host = await serveA2a();
  const { task } = await host.result<{ task: A2aTask }>("SendMessage", {
    message: userMessage("hi"),
  });
  const readTask = (more: object) => host.result<A2aTask>("GetTask", { id: task.id, ...more });
  expect((await readTask({})).history).not.toEqual([]);
  expect((await readTask({ history_length: 0 })).history ?? []).toEqual([]);
});

it("a host refuses a member of the other version instead of ignoring it", async () => {
  const host = await serveA2a();
  const { error } = await host.ask("SendMessage", {
    message: userMessage("hi"),
    configuration: { blocking: false },
  });
  expect(error?.code).toBe(-32602);
  expect(JSON.stringify(error)).toContain("returnImmediately");
});
