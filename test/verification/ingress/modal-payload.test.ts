/** Submitted modals and the message shortcut: what reaches the queue, and what a person reads below a wrong input. */
import { describe, expect, it } from "@jest/globals";
import { queueMessageSchema } from "@sekisho/verification/task/messages.ts";
import { emptyAnswer, setUp } from "./setup.ts";
import { createSignedRequest, fixture, formOf, nowMs } from "./slack-request.ts";

// biome-ignore lint/suspicious/noExplicitAny: payloads are varied freely
type Json = any;

function submission(change: (payload: Json) => void = () => {}): Json {
  const payload: Json = fixture("view-submission");
  change(payload);
  return payload;
}

const filledIn = (values: Record<string, object>, locale = "en") =>
  submission(({ view }) => {
    view.private_metadata = view.private_metadata.replace('"ja"', `"${locale}"`);
    for (const [block, state] of Object.entries(values))
      Object.assign(view.state.values[block].input, state);
  });

const askAbout = (change: (payload: Json) => void = () => {}) =>
  submission((payload) => {
    const { view } = payload;
    view.callback_id = "sekisho_ask_about";
    view.private_metadata = JSON.stringify({
      channel: "C0CHAN0001",
      ts: "1762740000.000100",
      threadTs: "1762730000.000100",
      actionTs: "1762750299.123456",
      external: "people",
      locale: "en",
    });
    view.blocks = [];
    view.state.values = {
      instruction: { input: { type: "plain_text_input", value: "Translate &amp; send" } },
    };
    change(payload);
  });

async function handle(payload: Json) {
  const { ingress, sent: messages, lines } = setUp();
  const answer = await ingress(
    createSignedRequest({ body: formOf({ payload: JSON.stringify(payload) }) }),
  );
  return { answer, sent: messages, lines };
}

describe("the modal of a sign-in", () => {
  const url = "https://sign-in.example/hunter2";
  const element = {
    type: "button",
    action_id: "sekisho_link",
    url,
    text: { type: "plain_text", text: "Open" },
  };
  const blocks = [{ type: "actions", block_id: "b", elements: [element] }];
  const signIn = () =>
    submission(({ view }) => {
      view.blocks = blocks;
      view.state.values = {};
    });

  it("enqueues who has confirmed, and nothing of the link", async () => {
    const { answer, sent: messages, lines } = await handle(signIn());
    expect(answer).toEqual(emptyAnswer(200));
    expect(messages).toMatchObject([{ type: "form_submitted", user: "U0USER0001", values: {} }]);
    expect(JSON.stringify([messages, lines])).not.toContain("hunter2");
  });

  it("acknowledges a click on the link, and enqueues and logs nothing of it", async () => {
    const { type: _type, view, ...payload } = signIn();
    const {
      answer,
      sent: messages,
      lines,
    } = await handle({
      ...{ ...payload, view, type: "block_actions", trigger_id: "1.2.a" },
      container: { type: "view", view_id: view.id },
      actions: [{ ...element, block_id: "b", action_ts: "1.1" }],
    });
    expect(answer).toEqual(emptyAnswer(200));
    expect(messages).toEqual([]);
    expect(lines.join()).toContain("other_interaction");
    expect(lines.join()).not.toContain("hunter2");
  });
});

describe("a submitted question", () => {
  it("enqueues the values of a submitted modal by input number and closes the modal", async () => {
    const { answer, sent: messages } = await handle(submission());
    expect(answer).toEqual(emptyAnswer(200));
    expect(messages).toEqual([
      {
        type: "form_submitted",
        requestId: "b712cf0d-e876-58d0-ab39-23ec5761e80e",
        team: "T0TEAM0001",
        user: "U0USER0001",
        userTeam: "T0TEAM0001",
        atMs: nowMs,
        question: 1,
        values: { 0: "1", 2: 2.5, 3: "2026-03-31" },
        submissionId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      },
    ]);
  });

  it("gives every submission of the same modal the same id, and another modal another id", async () => {
    const idOf = async (payload: Json) => Object((await handle(payload)).sent[0]).submissionId;
    const other = submission(({ view }) => {
      view.id = "V0VIEW0002";
    });
    const [first, again, another] = [
      await idOf(submission()),
      await idOf(submission()),
      await idOf(other),
    ];
    expect(again).toBe(first);
    expect(another).not.toBe(first);
  });

  it.each<[block: string, state: object, en: string, ja: string]>([
    ["0", { selected_option: null }, "Please fill this in.", "入力してください。"],
    [
      "0",
      { selected_option: { value: "2" } },
      "Please choose from the list.",
      "一覧から選択してください。",
    ],
    [
      "1",
      { selected_options: [{ value: "7" }] },
      "Please choose from the list.",
      "一覧から選択してください。",
    ],
    ["2", { value: "two" }, "Please enter a number.", "数値を入力してください。"],
    ["2", { value: "0.5" }, "This must be 1 or more.", "1以上の値を入力してください。"],
    ["2", { value: "10" }, "This must be 9 or less.", "9以下の値を入力してください。"],
    ["3", { selected_date: "2026-02-30" }, "Please choose a date.", "日付を選択してください。"],
    [
      "4",
      { value: "x".repeat(21) },
      "This is too long. Use at most 20 characters.",
      "長すぎます。20文字以内で入力してください。",
    ],
  ])(
    "shows below input %s the problem with %j and enqueues nothing",
    async (block, state, en, ja) => {
      for (const [locale, text] of [
        ["en", en],
        ["ja", ja],
      ] as const) {
        const { answer, sent: messages } = await handle(filledIn({ [block]: state }, locale));
        expect([answer.status, answer.headers["content-type"]]).toEqual([
          200,
          "application/json; charset=utf-8",
        ]);
        expect(JSON.parse(answer.body)).toEqual({
          response_action: "errors",
          errors: { [block]: text },
        });
        expect(messages).toEqual([]);
      }
    },
  );

  it.each([
    ["9007199254740993", "This must be 9007199254740991 or less."],
    ["-9007199254740993", "This must be -9007199254740991 or more."],
    ["1e400", "Please enter a number."],
    ["--", "Please enter a number."],
  ])("refuses the number %s instead of changing it silently", async (value, text) => {
    const payload = filledIn({ 2: { value } });
    delete payload.view.blocks[3].element.min_value;
    delete payload.view.blocks[3].element.max_value;
    const { answer, sent: messages } = await handle(payload);
    expect([JSON.parse(answer.body).errors, messages]).toEqual([{ 2: text }, []]);
  });

  it("shows all problems at once and logs none of the values", async () => {
    const { answer, lines } = await handle(
      filledIn({ 2: { value: "a secret" }, 4: { value: "secret".repeat(9) } }),
    );
    expect(Object.keys(JSON.parse(answer.body).errors)).toEqual(["2", "4"]);
    expect(lines.join("")).not.toContain("secret");
  });

  it("fits the longest texts of a modal into the queue", async () => {
    const { sent: messages } = await handle(
      submission(({ view }) => {
        const input = { type: "plain_text_input", action_id: "input", max_length: 3000 };
        view.blocks = Array.from({ length: 20 }, (_, index) => ({
          type: "input",
          block_id: `${index}`,
          element: input,
        }));
        const values = view.blocks.map((_: unknown, index: number) => [
          String(index),
          { input: { type: "plain_text_input", value: "関".repeat(3000) } },
        ]);
        view.state.values = Object.fromEntries(values);
      }),
    );
    expect(Object.keys(Object(messages[0]).values)).toHaveLength(20);
    expect(Buffer.byteLength(JSON.stringify(messages[0]))).toBeLessThan(256 * 1024);
  });

  it.each<[what: string, payload: Json]>([
    [
      "of another app's modal",
      submission(({ view }) => void Object.assign(view, { callback_id: "other" })),
    ],
    [
      "without metadata",
      submission(({ view }) => void Object.assign(view, { private_metadata: "" })),
    ],
    [
      "with metadata that is not ours",
      submission(({ view }) => void Object.assign(view, { private_metadata: '{"requestId":"1"}' })),
    ],
    ["without a view", submission((payload) => void Object.assign(payload, { view: null }))],
    [
      "that was only closed",
      submission((payload) => void Object.assign(payload, { type: "view_closed" })),
    ],
    [
      "about an invalid message",
      askAbout(
        ({ view }) => void Object.assign(view, { private_metadata: '{"channel":"c","ts":"1"}' }),
      ),
    ],
  ])("drops a submission %s", async (_what, payload) => {
    const { answer, sent: messages } = await handle(payload);
    expect([answer, messages]).toEqual([emptyAnswer(200), []]);
  });
});

/** The paths of all members of a value. */
function pathsIn(value: unknown, path: readonly string[] = []): string[][] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => [
    [...path, name],
    ...pathsIn(member, [...path, name]),
  ]);
}

describe("an interaction", () => {
  /** The last one cannot be made a text or a number: trying throws. */
  const strangers: Json[] = [
    null,
    [],
    {},
    7,
    true,
    "",
    "\ud800",
    "__proto__",
    { toString: 1, valueOf: 1 },
  ];

  it.each(["view-submission", "message-action", "block-actions"])(
    "answers 200 for any values in %s, and enqueues only readable messages",
    async (name) => {
      const payload = fixture(name);
      for (const path of pathsIn(payload)) {
        for (const stranger of strangers) {
          const changedPayload: Json = structuredClone(payload);
          const holder = path.slice(0, -1).reduce((at, member) => at[member], changedPayload);
          holder[path.at(-1) ?? ""] = stranger;
          const { answer, lines } = await handle(changedPayload);
          expect([path, stranger, answer.status]).toEqual([path, stranger, 200]);
          expect(lines.join("")).not.toContain("enqueue_failed");
        }
      }
    },
  );
});

describe("the message shortcut", () => {
  it("enqueues the shortcut with its trigger and the place of the message", async () => {
    const { answer, sent: messages } = await handle(fixture("message-action"));
    expect(answer).toEqual(emptyAnswer(200));
    expect(messages).toEqual([
      {
        type: "shortcut_used",
        requestId: expect.any(String),
        team: "T0TEAM0001",
        user: "U0USER0001",
        userTeam: "T0TEAM0001",
        channel: "C0CHAN0001",
        ts: "1762740000.000100",
        threadTs: "1762730000.000100",
        actionTs: "1762750299.123456",
        triggerId: "13345224609.738474920.8088930838d88f008e3",
      },
    ]);
  });

  it("drops a shortcut of another name", async () => {
    expect((await handle({ ...fixture("message-action"), callback_id: "other" })).sent).toEqual([]);
  });

  it("names the organization for a shortcut of its installation", async () => {
    const payload = {
      ...fixture("message-action"),
      is_enterprise_install: true,
      enterprise: { id: "E0ORG" },
      team: null,
    };
    expect((await handle(payload)).sent).toMatchObject([
      { team: "T0TEAM0001", enterprise: "E0ORG" },
    ]);
  });

  it("takes the installation of the modal and the workspace of the person in a shared channel", async () => {
    const payload = askAbout();
    const team = { id: "T0GUEST001", domain: "guests" };
    const user = { ...payload.user, team_id: team.id };
    const view = { ...payload.view, app_installed_team_id: "T0TEAM0001" };
    const [submission] = (await handle({ ...payload, team, user, view })).sent;
    expect(submission).toMatchObject({ message: { team: "T0TEAM0001", userTeam: "T0GUEST001" } });
    const inOrganization = { ...payload, view: { ...view, app_installed_team_id: "E0ORG00001" } };
    expect((await handle(inOrganization)).sent).toMatchObject([
      { message: { team: "T0TEAM0001" } },
    ]);
  });

  it("enqueues a question in the thread of the message when its modal is submitted", async () => {
    const { answer, sent: messages } = await handle(askAbout());
    expect(answer).toEqual(emptyAnswer(200));
    expect(messages).toMatchObject([
      {
        type: "ask",
        receivedAtMs: nowMs,
        message: {
          appId: "A0APP00001",
          team: "T0TEAM0001",
          channel: "C0CHAN0001",
          user: "U0USER0001",
          ts: "1762750299.123456",
          threadTs: "1762730000.000100",
          direct: false,
          text: "",
          external: "people",
          about: { ts: "1762740000.000100", instruction: "Translate & send" },
        },
      },
    ]);
    expect(() => queueMessageSchema.parse(messages[0])).not.toThrow();
    // A message that is in no thread begins one.
    const alone = askAbout(({ view }) => {
      const { threadTs: _none, ...metadata } = JSON.parse(view.private_metadata);
      view.private_metadata = JSON.stringify(metadata);
    });
    expect((await handle(alone)).sent).toMatchObject([
      { message: { threadTs: "1762740000.000100" } },
    ]);
  });

  it("makes one task of one modal, however often it is submitted", async () => {
    const ids = [
      (await handle(askAbout())).sent[0]?.requestId,
      (await handle(askAbout())).sent[0]?.requestId,
    ];
    expect(ids[0]).toBe(ids[1]);
    const other = await handle(
      askAbout(({ view }) => void Object.assign(view, { id: "V0VIEW0009" })),
    );
    expect(other.sent[0]?.requestId).not.toBe(ids[0]);
  });
});
