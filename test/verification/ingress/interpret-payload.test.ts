/** What else than messages Slack sends: slash commands, buttons, conversations with the assistant. */
import { describe, expect, it } from "@jest/globals";
import { createTrace } from "../../../lambdas/shared/telemetry/telemetry.ts";
import {
  type InterpretedPayload,
  interpretPayload,
  type VerifiedPayload,
} from "../../../lambdas/verification/ingress/interpret-payload.ts";
import { encodeButton } from "../../../lambdas/verification/slack/messages/blocks.ts";
import { queueMessageSchema } from "../../../lambdas/verification/task/messages.ts";
import { conversationOpenedIdOf, requestIdOf } from "../../../lambdas/verification/task/routing.ts";
import { fixture, nowMs } from "./slack-request.ts";

const taskId = "b712cf0d-e876-58d0-ab39-23ec5761e80e";

function of(type: VerifiedPayload["type"], payload: unknown): InterpretedPayload {
  return interpretPayload({ verified: { type, payload }, nowMs, newTrace: createTrace });
}
function messageOf(type: VerifiedPayload["type"], payload: unknown) {
  const understood = of(type, payload);
  if ("drop" in understood) throw new Error(`dropped: ${understood.drop}`);
  return queueMessageSchema.parse(understood.message);
}
const command = (change: Record<string, unknown> = {}) => ({ ...fixture("slash-command"), ...change });
const clicked = (change: Record<string, unknown> = {}) => ({ ...fixture("block-actions"), ...change });

describe("a slash command", () => {
  it("is a question of its own, at the time at which it came, in the text that the person typed", () => {
    expect(messageOf("slash_commands", command())).toMatchObject({
      type: "ask",
      requestId: requestIdOf({
        appId: "A0APP00001",
        channel: "C0CHAN0001",
        ts: "13345224609.738474920.8088930838d88f008e0",
      }),
      receivedAtMs: nowMs,
      message: {
        appId: "A0APP00001",
        team: "T0TEAM0001",
        channel: "C0CHAN0001",
        user: "U0USER0001",
        ts: "1762750300.000000",
        direct: false,
        text: "What is a sekisho? 1 < 2",
        command: true,
      },
    });
  });

  it("typed twice is two questions, and one that comes twice is one", () => {
    const again = command({ trigger_id: "13345224609.738474920.8088930838d88f008e9" });
    const ids = [command(), command(), again].map((each) => messageOf("slash_commands", each));
    const [first, repeated, second] = ids.map((message) => message.requestId);
    expect(repeated).toBe(first);
    expect(second).not.toBe(first);
  });

  it.each([
    ["a direct message", { channel_id: "D0DIRECT01", channel_name: "directmessage" }, true],
    ["a group's direct message", { channel_id: "G0GROUP001", channel_name: "mpdm-a--b-1" }, false],
    ["a private channel", { channel_id: "C0PRIVATE1", channel_name: "privategroup" }, false],
  ])("typed in %s is told by the channel's id", (_where, change, direct) => {
    expect(messageOf("slash_commands", command(change))).toMatchObject({ message: { direct } });
  });

  it("belongs to the organization where the app is installed there, as the form and the socket say it", () => {
    for (const is_enterprise_install of ["true", true]) {
      const change = { is_enterprise_install, enterprise_id: "E0ORG00001" };
      expect(messageOf("slash_commands", command(change))).toMatchObject({ message: { enterprise: "E0ORG00001" } });
    }
    const { message } = {
      message: undefined,
      ...messageOf("slash_commands", command({ enterprise_id: "E0ORG00001" })),
    };
    expect(message).not.toHaveProperty("enterprise");
  });

  it("without a text is a question all the same, and is answered", () => {
    expect(messageOf("slash_commands", command({ text: undefined }))).toMatchObject({ message: { text: "" } });
  });

  it.each([
    ["a trigger that looks like a post's ts", { trigger_id: "1762750000.000100" }],
    ["an empty trigger", { trigger_id: "" }],
    ["no channel", { channel_id: undefined }],
    ["no user", { user_id: "" }],
  ])("with %s is dropped", (_what, change) => {
    expect(of("slash_commands", command(change))).toEqual({ drop: "unknown_payload" });
  });
});

describe("a button", () => {
  const expected = {
    type: "button_click",
    requestId: taskId,
    team: "T0TEAM0001",
    channel: "C0CHAN0001",
    threadTs: "1762750000.000100",
    user: "U0USER0001",
    atMs: nowMs,
    button: { type: "cancel" },
  };

  it("that was pressed says who wants what of which task, and where", () => {
    expect(messageOf("interactive", clicked())).toEqual(expected);
  });

  it("of a question says which question and which answer", () => {
    const button = { type: "answer", question: 1, option: 2 } as const;
    const actions = [encodeButton({ requestId: taskId, button })];
    expect(messageOf("interactive", clicked({ actions }))).toEqual({ ...expected, button });
  });

  it("in an organization's installation has the workspace of the person who pressed, since Slack names no other", () => {
    const change = { team: null, enterprise: { id: "E0ORG00001", name: "Example" }, is_enterprise_install: true };
    expect(messageOf("interactive", clicked(change))).toMatchObject({ team: "T0TEAM0001", enterprise: "E0ORG00001" });
  });

  it("in the installation of a workspace is the workspace's, although that belongs to an organization", () => {
    const change = { enterprise: { id: "E0ORG00001", name: "Example" }, user: { id: "U1", team_id: "T0OTHER001" } };
    expect(messageOf("interactive", clicked(change))).toEqual({ ...expected, user: "U1" });
  });

  it("is known by its container where Slack sends neither message nor channel", () => {
    expect(messageOf("interactive", clicked({ message: undefined, channel: undefined }))).toEqual(expected);
  });

  it.each([
    ["a button of somebody else", clicked({ actions: [{ action_id: "other", value: "1" }] })],
    ["a button without a value", clicked({ actions: [{ action_id: "sekisho_cancel" }] })],
    ["a value that we did not write", clicked({ actions: [{ action_id: "sekisho_cancel", value: '{"r":"1"}' }] })],
    ["no action", clicked({ actions: [] })],
    ["no workspace", clicked({ team: null, user: { id: "U1" } })],
    ["no channel", clicked({ channel: null, container: null })],
    ["a shortcut", { type: "shortcut", callback_id: "x" }],
    ["a modal", clicked({ type: "view_submission" })],
    ["nothing", null],
  ])("is not: %s", (_what, payload) => {
    expect(of("interactive", payload)).toEqual({ drop: "other_interaction" });
  });
});

describe("a conversation with the assistant", () => {
  const thread = { appId: "A0APP00001", channel: "D0DIRECT01", threadTs: "1762750000.000100" };

  it("that was opened is greeted, by the same id however often Slack tells of it", () => {
    const opened = messageOf("events_api", fixture("assistant-thread-started"));
    expect(opened).toEqual({
      type: "conversation_opened",
      requestId: conversationOpenedIdOf(thread),
      team: "T0TEAM0001",
      channel: "D0DIRECT01",
      threadTs: "1762750000.000100",
      user: "U0USER0001",
    });
    expect(conversationOpenedIdOf(thread)).not.toBe(requestIdOf({ ...thread, ts: thread.threadTs }));
  });

  it("in which the person only looks elsewhere is left alone", () => {
    const payload = fixture("assistant-thread-started");
    const event = { ...payload.event, type: "assistant_thread_context_changed" };
    expect(of("events_api", { ...payload, event })).toEqual({ drop: "other_event" });
  });

  it("without a thread is dropped", () => {
    const payload = fixture("assistant-thread-started");
    const event = { ...payload.event, assistant_thread: { user_id: "U1", channel_id: "D1" } };
    expect(of("events_api", { ...payload, event })).toEqual({ drop: "unknown_payload" });
  });
});
