/** The rehearsal of one kind: its templates run, people use the bot, and in the end no permission was missing or unused. */
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { ExecutionKind } from "@sekisho/config/stage-schema.ts";
import { whyNoDynamoDb } from "../../doubles/aws/emulators.ts";
import { startOtlpCollector } from "../../doubles/otlp-collector.ts";
import { type EmfDocument, emfProblems } from "../../runtime/telemetry/emf-rules.ts";
import { deafAlarms, raisedAlarms } from "./aws/alarms.ts";
import { madeUpCredential } from "./aws/callers.ts";
import { startTokenIssuer, type TokenIssuer } from "./aws/token-issuer.ts";
import {
  type Elsewhere,
  startPatient,
  startWithIssuer,
  startWithSignature,
  startWithToken,
} from "./elsewhere.ts";
import { newAccountLimit } from "./lambda/concurrency.ts";
import { asOperator, runDoctor } from "./operator.ts";
import { quiet, startWorkersAnew } from "./stage.ts";
import { a2aOfStage, serveA2aClient } from "./stories/a2a-clients.ts";
import { alarmsRing, clickInVain, poisonTask, redrive } from "./stories/dead-letters.ts";
import {
  keepMeasured,
  logDifference,
  measureCalls,
  readMeasured,
  withoutChance,
} from "./stories/measured-calls.ts";
import {
  askAndRead,
  cancelAtHome,
  converse,
  deliverThrice,
  exchangeFiles,
  letIn,
  logged,
  sendBurst,
  traceTask,
} from "./stories/messages.ts";
import { pollInOneChain, runLongTasks } from "./stories/polling.ts";
import {
  answerByPush,
  answerWithoutPush,
  askByPush,
  forgePushes,
  showFirstWordsByPush,
  showProgressByPush,
} from "./stories/pushes.ts";
import { changeRoutes, moveTasks } from "./stories/routes.ts";
import {
  endSessionBetween,
  exceedSessionQuota,
  outlastIdleTime,
  takeAgentCoreDown,
} from "./stories/sessions.ts";
import { synthesizeKind } from "./synthesized.ts";
import { executionToken, startWorld, type World } from "./world.ts";

/** Slack's own are 0, one and five minutes. */
const slackRetryDelaysMs = [0, 1000, 5000];
const formerSettings = {
  routes: [{ word: "formerly", destination: "elsewhere" }, { destination: "home" }],
};

export function rehearse(kind: ExecutionKind): void {
  const suite = whyNoDynamoDb === undefined ? describe : describe.skip;
  const leftOut = whyNoDynamoDb === undefined ? "" : ` (left out: ${whyNoDynamoDb})`;
  suite(`the synthesized stage of ${kind}${leftOut}`, () => {
    const closing: (() => unknown)[] = [];
    let world: World;
    let deployed: unknown;
    let home: Elsewhere;
    let elsewhere: Elsewhere;
    let signed: Elsewhere | undefined;
    let patient: Elsewhere | undefined;
    let issuer: TokenIssuer;
    let afterPoisonMs: number | undefined;
    let collector: Awaited<ReturnType<typeof startOtlpCollector>>;

    beforeAll(async () => {
      issuer = await startTokenIssuer();
      collector = await startOtlpCollector();
      closing.push(issuer.close, collector.close);
      [home, elsewhere] = await Promise.all([
        startWithToken({ token: executionToken }),
        startWithIssuer({ issuer: issuer.url }),
      ]);
      closing.push(home.close, elsewhere.close);
      if (kind === "external") {
        signed = await startWithSignature({
          callerOf: (accessKeyId) => world.dependencies.callerOf(accessKeyId),
        });
        patient = await startPatient({ token: executionToken });
        closing.push(signed.close, patient.close);
      }
      const { assembly, config, remove } = await synthesizeKind({
        kind,
        homeUrl: home.url,
        elsewhereUrl: elsewhere.url,
        collectorUrl: collector.url,
        ...(kind === "lambda" && { execution: { a2a: a2aOfStage } }),
        ...(signed && { signedUrl: signed.url }),
        ...(patient && { patientUrl: patient.url }),
      });
      deployed = config;
      closing.push(remove);
      world = await startWorld({
        assembly,
        issuer,
        retryDelaysMs: slackRetryDelaysMs,
        formerSettings,
      });
      closing.push(world.close);
      // No policy may depend on the id of a role, because a role that is created again has another id.
      for (const role of world.resolver.resources("AWS::IAM::Role"))
        world.authority.recreate(role.arn);
    });

    afterAll(async () => {
      for (const step of closing.reverse()) await step();
    });

    /** Returns the host of each start of the agent for a task. */
    function startsOf(requestId: string): string[] {
      const isStart = (line: string) => line.includes(requestId) && line.includes('"task_started"');
      const lines = {
        home: [...home.lines, ...world.lines.map(({ line }) => line)],
        elsewhere: elsewhere.lines,
        signed: signed?.lines ?? [],
      };
      return Object.entries(lines).flatMap(([place, all]) => all.filter(isStart).map(() => place));
    }

    it("answers at once and later with exactly the AWS calls and log lines that were measured", async () => {
      const known = withoutChance({ kind, calls: readMeasured(kind) });
      let calls = await measureCalls(world);
      // A slow moment of the machine costs a call more or fewer. A change of the product does so each time.
      for (
        let again = 0;
        again < 5 && !isDeepStrictEqual(withoutChance({ kind, calls }), known);
        again += 1
      )
        calls = await measureCalls(world);
      if (process.env.UPDATE === "1") keepMeasured({ kind, calls });
      expect(withoutChance({ kind, calls })).toEqual(
        withoutChance({ kind, calls: readMeasured(kind) }),
      );
      expect(logDifference({ calls, known: readMeasured(kind) })).toBeLessThan(0.2);
    });

    it("passes the checks of an operator who cannot call a destination, through the deployed worker", async () => {
      const { run, checks, failed } = await runDoctor(world, { config: deployed });
      expect(failed.map(({ name }) => name)).toEqual(["nowhere"]);
      const statuses = Object.fromEntries(checks.map(({ name, status }) => [name, status]));
      expect(statuses).toMatchObject({
        home: "ok",
        elsewhere: "ok",
        worker: "ok",
        "bot token": "ok",
        entry: "ok",
      });
      const args = ["doctor", "--destination", "home"];
      const post = await asOperator(world, { config: deployed, args });
      expect(post).toMatchObject({ code: 0, stdout: expect.stringContaining("1 ok") });
      for (const secret of Object.values(world.secrets))
        expect(run.stdout + run.stderr + post.stdout + post.stderr).not.toContain(secret);
    });

    it("records one trace from Slack's event to the answer, across the synthesized zones", async () => {
      const verification = ["sekisho.task", "process tasks", "execute_task", "deliver answer"];
      const execution = kind === "external" ? [] : ["execute_task", "invoke_agent echo"];
      const wanted = [
        ...verification.map((name) => `sekisho-verification: ${name}`),
        ...execution.map((name) => `sekisho-execution: ${name}`),
      ];
      const spans = await traceTask(world, { collector, wanted });
      expect(spans.filter(({ parent }) => parent === undefined).map(({ name }) => name)).toEqual([
        "sekisho.task",
      ]);
      expect(collector.bytes()).not.toContain("one trace of it all");
    });

    it("shows a failure and a refusal, and answers a refused person once a rule allows them", async () => {
      await askAndRead(world, "fail", /couldn't finish/);
      const { refusal } = await letIn(world);
      expect(refusal).not.toContain("let me in");
    });

    it("passes a file on by its signed URL and posts a file of the agent", async () => {
      const { wanted, read: readSettings, answers } = await exchangeFiles(world);
      expect(readSettings).toEqual({
        status: 200,
        text: wanted,
        type: "text/plain",
        mayBeShown: false,
      });
      expect(answers.flatMap(({ files = [] }) => files.map(({ name }) => name))).toEqual([
        expect.stringMatching(/\.csv$/),
      ]);
    });

    it("accepts a command, a button and a reply without a mention", async () => {
      const { requestIds, thread } = await converse(world);
      // The answer to its question starts the agent again.
      expect(requestIds.map(startsOf)).toEqual([["home", "home"], ["home"]]);
      expect(thread).toHaveLength(5);
    });

    it("shows a person's tasks on the App Home and cancels one there", () => cancelAtHome(world));

    it("answers each message of a burst beyond the concurrency of a new account once", async () => {
      expect(raisedAlarms(world, { toMs: Date.now() })).toEqual([]);
      const fromMs = Date.now();
      const { answers, deadLetters, peak } = await sendBurst(world);
      expect(answers).toEqual(answers.map(() => 1));
      expect(deadLetters).toBe(0);
      expect(peak).toBe(newAccountLimit);
      await alarmsRing(world, fromMs, ["EntryErrors", "IngressThrottles"]);
    });

    it("runs and answers a message once although it is delivered three times", async () => {
      const { requestId, answers } = await deliverThrice(world);
      expect(answers).toBe(1);
      expect(startsOf(requestId)).toEqual(["home"]);
    });

    it("fails a poisoned task visibly, raises the alarm, keeps a failed click, and redrives without repeats", async () => {
      const fromMs = Date.now();
      const [{ requestId, message, text }] = await Promise.all([
        poisonTask(world),
        clickInVain(world),
      ]);
      await alarmsRing(world, fromMs, ["DeadLettersKept"]);
      afterPoisonMs = Date.now();
      await world.until("end of the agent", () => {
        const lines = [...home.lines, ...world.lines.map(({ line }) => line)];
        return lines.find((line) => line.includes(requestId) && line.includes('"task_ended"'));
      });
      await redrive(world, requestId);
      expect(world.answersTo(message).map((post) => post.text)).toEqual([text]);
    });

    it("keeps the routes that the previous version pushed although a deploy has changed the tags", async () => {
      const { requestId } = await askAndRead(world, "formerly: who is there?", /who is there/);
      expect(startsOf(requestId)).toEqual(["elsewhere"]);
      expect(logged(world, { message: "live_settings_taken_over" })).toHaveLength(1);
      const pushed = {
        ...Object(deployed),
        routes: [{ word: "by-push", destination: "elsewhere" }, { destination: "home" }],
      };
      const run = await asOperator(world, { config: pushed, args: ["config", "push"] });
      expect(run).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('"formerly" -> "by-push"'),
      });
      await startWorkersAnew(world);
      const next = await askAndRead(world, "by-push: who is there now?", /who is there now/);
      expect(startsOf(next.requestId)).toEqual(["elsewhere"]);
    });

    if (kind !== "external") {
      it("answers as soon as the end of a task is pushed, however late a poll would come", () =>
        answerByPush(world));

      it("shows the first progress as soon as it is pushed", () => showProgressByPush(world));

      it("shows the first words of an answer as soon as they are pushed", async () => {
        expect(await showFirstWordsByPush(world)).toBe(0);
      });

      it("asks a question as soon as it is pushed", () => askByPush(world));

      it("answers at a regular poll when pushes fail", async () => {
        const { failedPushes, polls } = await answerWithoutPush(world);
        expect(failedPushes).toBe(1);
        // A slow machine ends the task after the first regular poll.
        expect(polls).toBeGreaterThan(0);
      });

      it("ignores forged pushes, including those in the shape of other messages", async () => {
        const { requestId, answers } = await forgePushes(world);
        expect(answers).toBe(1);
        expect(logged(world, { request_id: requestId, message: "task_started" })).toHaveLength(1);
        expect(logged(world, { message: "completion_refused" }).length).toBeGreaterThan(0);
      });
    }

    if (kind === "agentcore") {
      it("sends tasks elsewhere once a route is edited, and runs and answers each task once", async () => {
        const {
          before: oldValue,
          meanwhile,
          after: newValue,
        } = await moveTasks(world, "elsewhere");
        await quiet(world);
        for (const { message } of [...oldValue, ...meanwhile, ...newValue])
          expect(world.answersTo(message)).toHaveLength(1);
        const placesOf = (post: typeof oldValue) =>
          post.map(({ requestId }) => startsOf(requestId));
        expect(placesOf(oldValue)).toEqual(oldValue.map(() => ["home"]));
        for (const places of placesOf(meanwhile)) expect(places).toHaveLength(1);
        expect(placesOf(newValue)).toEqual(newValue.map(() => ["elsewhere"]));
        for (const { requestId } of oldValue)
          expect(elsewhere.lines.join()).not.toContain(requestId);
      });
    }

    it("sends a task to the next destination of its route when the first cannot be reached", async () => {
      await changeRoutes(world, "nowhere", "elsewhere");
      const { requestId } = await askAndRead(world, "who is there?", /who is there/);
      expect(startsOf(requestId)).toEqual(["elsewhere"]);
    });

    if (kind === "external") {
      it("signs as a role that another account lends", async () => {
        await changeRoutes(world, "signed");
        const { requestId } = await askAndRead(world, "who lent it?", /who lent it/);
        expect(startsOf(requestId)).toEqual(["signed"]);
      });
    }

    if (kind === "external") {
      it("answers a task of two hours and ends one after eight, polled as seldom as the host asks", async () => {
        const { answeredAfterHours, overAfterHours, overText, polls } = await runLongTasks(world);
        expect(answeredAfterHours).toBeGreaterThanOrEqual(2);
        expect(overAfterHours).toBeGreaterThanOrEqual(8);
        expect(overText).not.toContain("forever");
        expect(polls).toBeLessThanOrEqual(2 * (2 * 6 + 1));
      });
    }

    if (kind === "agentcore") {
      it("runs tasks of 20 minutes and of two hours in one session each, polled twice per idle time", async () => {
        const { sessions, tasks } = await outlastIdleTime(world);
        expect(tasks.map(({ answers }) => answers)).toEqual(
          tasks.map(({ minutes }) => [expect.stringContaining(`${minutes} minutes`)]),
        );
        expect([sessions, ...tasks.map(({ starts }) => starts)]).toEqual([2, 1, 1]);
        // The idle time is two minutes, and nobody polled for three times as long.
        for (const { minutes, polls } of tasks) expect(polls).toBeGreaterThanOrEqual(minutes - 6);
      }, 1_800_000);

      it("answers the next message of a thread in a new session when the previous one has ended", async () => {
        await changeRoutes(world, "home");
        expect(await endSessionBetween(world)).toBe(1);
      });

      it("answers later when the session quota is used up or AgentCore fails, and raises the alarms", async () => {
        const fromMs = Date.now();
        expect(await exceedSessionQuota(world)).toBeGreaterThan(0);
        expect(await takeAgentCoreDown(world)).toBeGreaterThan(0);
        await alarmsRing(world, fromMs, ["RuntimeErrors"]);
      });
    }

    if (kind === "lambda")
      it("polls a task more often than Lambda runs a function in one chain without loops", () =>
        pollInOneChain(world));

    // This story must be the last: a message about its question stays in a queue for as long as the question might.
    if (kind === "lambda") {
      it("serves named A2A clients a signed card, tasks, questions, lists, and pushes by the worker", async () => {
        const { listed, updates: texts } = await serveA2aClient(world);
        expect(listed).toBe(1);
        expect(texts.at(-1)).toBe("TASK_STATE_COMPLETED");
      });
    }

    it("makes only calls that the templates allow, and meets no other problem of a deploy", () => {
      expect(world.problems).toEqual([]);
    });

    it("defines only alarms that can ring, and that do not ring for ordinary stories", () => {
      expect(deafAlarms(world)).toEqual([]);
      const raised = raisedAlarms(
        world,
        afterPoisonMs === undefined ? {} : { fromMs: afterPoisonMs },
      );
      expect(raised).toEqual(
        kind === "agentcore"
          ? ["DeadLettersKept", "RuntimeErrors", "RuntimeThrottles"]
          : ["DeadLettersKept"],
      );
    });

    it("grants only permissions that a story needs", () => {
      expect(world.authority.unused()).toEqual([]);
    });

    it("writes metrics in CloudWatch's format for the entry, tasks, calls, answers, and agents on Lambda", () => {
      const writtenText = world.lines.filter(({ line }) => line.includes('"_aws"'));
      const documents = writtenText.map(({ line }) => JSON.parse(line) as EmfDocument);
      expect(documents.flatMap(emfProblems)).toEqual([]);
      const names = new Set(
        documents.flatMap(({ _aws }) => _aws.CloudWatchMetrics[0]?.Metrics[0]?.Name ?? []),
      );
      for (const name of [
        "messages_total",
        "tasks_total",
        "calls_total",
        "answers_delivered_total",
        "dead_letters_total",
      ])
        expect([...names]).toContain(`sekisho_${name}`);
      expect(names.has("sekisho_agent_seconds")).toBe(kind === "lambda");
      expect(
        documents.every(({ _aws }) => _aws.CloudWatchMetrics[0]?.Namespace === "Sekisho/rehearsal"),
      ).toBe(true);
    });

    it("writes no secret into any log", () => {
      const text = [...world.lines.map(({ line }) => line), ...home.lines, ...elsewhere.lines].join(
        "\n",
      );
      expect(issuer.issued.length).toBeGreaterThan(0);
      expect(text).not.toMatch(/X-Amz-Signature|What nobody else/);
      for (const secret of [...Object.values(world.secrets), ...issuer.issued])
        expect(text).not.toContain(secret);
      expect(text).not.toMatch(madeUpCredential);
      expect(text).not.toContain("What is a sekisho");
    });
  });
}
