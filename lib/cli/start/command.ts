/** `sekisho start`: runs both zones on this machine. */
import { mkdtempSync, rmSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Environment, readEnvironment } from "@sekisho/config/environment.ts";
import { type ConfigLocation, configDirectory, loadConfig } from "@sekisho/config/load.ts";
import { toLogSettings } from "@sekisho/config/log-settings.ts";
import type { Config } from "@sekisho/config/schema.ts";
import {
  listAuthenticatorSecrets,
  listCardSecrets,
} from "@sekisho/execution/config/execution-secrets.ts";
import {
  type BothZones,
  openFakeSlack,
  type SlackConnection,
  startBothZones,
} from "@sekisho/local/both-zones.ts";
import { handleAgentErrors } from "@sekisho/local/execution-zone.ts";
import { lockFolder } from "@sekisho/local/folder-lock.ts";
import { isVisit } from "@sekisho/local/landing.ts";
import { listExamples } from "@sekisho/local/page/examples.ts";
import { createPage } from "@sekisho/local/page/page.ts";
import { createStepRecorder } from "@sekisho/local/recorder/step-recorder.ts";
import { createTaskWatch } from "@sekisho/local/recorder/task-watch.ts";
import { isAnySet } from "@sekisho/local/slack-installation.ts";
import { openRealSlack } from "@sekisho/local/socket-mode-choice.ts";
import { createLocalLog } from "@sekisho/local/terminal-log.ts";
import { takeSharedPage } from "@sekisho/local/watch/supervise.ts";
import { createDoor, type Door, type SharedPage } from "@sekisho/local/web/door.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { sanitizeLines } from "@sekisho/runtime/untrusted-input.ts";
import type { Page } from "@sekisho/verification/ingress/server.ts";
import { unescapeMrkdwn } from "@sekisho/verification/slack/context/mrkdwn.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import type { Observation } from "@sekisho/verification/worker/step/step.ts";
import {
  type CommandRun,
  closeWhenStopped,
  configOption,
  defineCommand,
  exitCodes,
  flag,
  option,
  requireSecrets,
  requireTokens,
  UsageError,
  waitForAbort,
} from "../command.ts";
import { openPageBesideRun, type PageBesideRun } from "../operate/server.ts";
import { requireSlackSecrets } from "../slack-secrets.ts";
import { watchCommand } from "../watch-command.ts";

export const start = defineCommand({
  name: "start",
  about: `
Runs both zones on 127.0.0.1 until Ctrl-C, with a page that replaces Slack. The Verification zone listens on port 3000
(SEKISHO_PORT), the Execution zone on 8080 (SEKISHO_EXECUTION_PORT). Tasks are stored in .sekisho/ and survive a restart.

With SLACK_APP_TOKEN and SLACK_BOT_TOKEN set, it uses the real Slack over Socket Mode, which needs no tunnel. The
operators' page then shows each task and its timeline. With SLACK_SIGNING_SECRET and SLACK_BOT_TOKEN set, the real Slack
sends its events to /slack/events through a tunnel. The tunnel would lead to the page too, so use sekisho operate instead.`,
  options: {
    once: option("TEXT", "runs one task, prints the answer and exits"),
    watch: flag(
      "starts again when the agent file, a file that it imports, the configuration or .env changes; tasks are kept",
    ),
    config: configOption,
  },
  exits: `
Exit code with --once: 0 the task succeeded; 1 it failed; 2 bad usage or configuration.
Log lines go to stderr (SEKISHO_LOG_LEVEL, or telemetry.logs.level: debug, info, warn, error; here warn by default),
readable on a terminal, as JSON elsewhere. What goes wrong in your agent is printed with its line
(SEKISHO_SHOW_AGENT_ERRORS=0 switches that off). Variables that are not set are taken from .env in the working directory.`,
  async run(run) {
    const { values } = run;
    const location = { directory: run.directory, file: values.config };
    const settings = {
      location,
      config: loadConfig(location),
      directory: configDirectory(location),
      environment: readEnvironment(),
      sharedPage: takeSharedPage(),
    };
    const { config } = settings;
    if (values.watch === true) {
      if (values.once !== undefined) throw new UsageError("Give either --once or --watch.");
      await watchCommand({
        run,
        name: "start",
        execution: config.execution,
        base: settings.directory,
        config: values.config,
      });
      return exitCodes.success;
    }
    requireTokens(listAuthenticatorSecrets(config.execution.authenticator));
    requireSecrets(listCardSecrets(config.execution.a2a));
    handleAgentErrors({ log: logsOf(settings)("execution") });
    if (values.once !== undefined) return once(run, { ...settings, text: values.once });
    const isReal = isAnySet(config.slack);
    if (isReal) requireSlackSecrets(config, "Set none of them to use the fake Slack.");
    const lock = lockFolder({ folder: storeFolderOf(run) });
    try {
      return await (isReal ? withRealSlack : withFakeSlack)(run, settings);
    } finally {
      lock.release();
    }
  },
});

/** `directory` is the folder to which paths in the configuration are relative. */
type Given = {
  location: ConfigLocation;
  config: Config;
  directory: string;
  environment: Environment;
  sharedPage: SharedPage | undefined;
};

async function withFakeSlack(run: CommandRun, settings: Given): Promise<number> {
  const log = logsOf(settings);
  const { fakeSlack, slack } = await openFakeSlack({
    log: log("sekisho"),
    file: join(storeFolderOf(run), "fake-slack.json"),
  });
  const view = await createView(run, { ...settings, slack, fakeSlack: slack });
  const { door, stepRecorder } = view;
  const examples = listExamples(settings.config);
  const page = createPage({ fakeSlack, stepRecorder, door, examples });
  const pages: Page = async (...exchange) =>
    !(await isStranger(exchange[0], door)) &&
    ((await page.handle(...exchange)) || (await view.page(...exchange)));
  try {
    const { observe, tap } = view;
    const zones = await startBothZones({
      ...common(run, settings),
      ...{ slack, log, page: pages, observe, tap },
    });
    const close = async () => {
      page.close();
      await view.close();
      await zones.close();
    };
    await closeWhenStopped(run, close, () => {
      view.open(zones);
      const address = door.address(`${zones.verificationUrl}/`);
      run.print(`Local page:        ${address}   (open it in a browser: it replaces Slack)`);
      run.print(`Operators' page:   ${door.address(`${zones.verificationUrl}/operate/`)}`);
      printAddresses(run, zones);
      run.print("Ctrl-C stops everything. Anyone with the addresses of the pages can use them.");
    });
    return exitCodes.success;
  } finally {
    await fakeSlack.close();
  }
}

/** The operators' page is beside the real Slack, unless a tunnel leads to the port on which it would be. */
async function withRealSlack(run: CommandRun, settings: Given): Promise<number> {
  const { config } = settings;
  const { access, text } = await openRealSlack({ config, signal: run.signal });
  const slack = { apiUrl: config.slack.apiUrl, ...access, extraRules: [] };
  const hasTunnel = access.appToken === undefined || config.slack.install !== undefined;
  const view = hasTunnel ? undefined : await createView(run, { ...settings, slack });
  const zones = await startBothZones({
    ...common(run, settings),
    ...{ slack, log: logsOf(settings) },
    ...(view && {
      page: async (...exchange) =>
        !(await isStranger(exchange[0], view.door)) && view.page(...exchange),
      observe: view.observe,
      tap: view.tap,
    }),
  });
  const close = async () => {
    await view?.close();
    await zones.close();
  };
  await closeWhenStopped(run, close, () => {
    view?.open(zones);
    const address = view?.door.address(`${zones.verificationUrl}/operate/`);
    if (address !== undefined)
      run.print(`Operators' page:   ${address}   (each task and its timeline, beside Slack)`);
    printAddresses(run, zones, "/slack/events   (the real Slack)");
    if (address === undefined)
      run.print(`Operators' page:   ${sekisho} operate   (in a second terminal)`);
    run.print(text({ port: zones.verificationPort }));
  });
  return exitCodes.success;
}

function printAddresses(run: CommandRun, zones: BothZones, eventsPath = ""): void {
  run.print(`Verification zone: ${zones.verificationUrl}${eventsPath}`);
  run.print(`Execution zone:    ${zones.executionUrl}`);
  if (zones.metricsUrl !== undefined) run.print(`Metrics:           ${zones.metricsUrl}`);
}

type Viewed = Given & {
  slack: Pick<SlackConnection, "signingSecret" | "botToken" | "appToken">;
  fakeSlack?: Pick<SlackConnection, "apiUrl" | "botToken">;
};

/** The operators' page with the steps of this run. It answers from `open` on, when the zones have made the file of tasks. */
async function createView(run: CommandRun, { slack, fakeSlack, ...settings }: Viewed) {
  const readers = [slack.signingSecret, slack.botToken, slack.appToken];
  const secrets = await Promise.all(readers.map((read) => read?.()));
  const stepRecorder = createStepRecorder({
    secrets: secrets.filter((secret) => secret !== undefined),
  });
  const door = createDoor({ shared: settings.sharedPage });
  let operators: PageBesideRun | undefined;
  const page: Page = async (...exchange) => (await operators?.handle(...exchange)) ?? false;
  return {
    ...{ door, stepRecorder, page },
    ...createTaskWatch({ add: stepRecorder.add }),
    open(zones: BothZones) {
      operators = openPageBesideRun({
        config: settings.location,
        store: join(storeFolderOf(run), "verification.db"),
        executionPort: Number(new URL(zones.executionUrl).port),
        steps: stepRecorder.steps,
        ...{ fakeSlack, door, log: logsOf(settings)("sekisho") },
      });
    },
    close: async () => operators?.close(),
  };
}

/** True for a browser without a session: the zone tells it where the address with the token is. */
async function isStranger(request: IncomingMessage, door: Door): Promise<boolean> {
  if (!isVisit(request)) return false;
  return door.admit(request).then(
    () => false,
    () => true,
  );
}

/** Runs one task. Uses free ports and a temporary folder, so that it can run beside another `sekisho start`. */
async function once(
  run: CommandRun,
  { config, directory, environment, text }: Given & { text: string },
): Promise<number> {
  if (text.trim() === "") throw new UsageError('Give --once a text: --once "What is a sekisho?"');
  const log = logsOf({ environment, config });
  const storeFolder = mkdtempSync(join(tmpdir(), "sekisho-"));
  const { fakeSlack, slack } = await openFakeSlack({ log: log("sekisho") });
  try {
    const over = Promise.withResolvers<Task>();
    const observe = ({ task }: Observation) => {
      const isAsked = task.state === "asking" && task.question?.ts !== undefined;
      if (task.state === "done" || isAsked) over.resolve(task);
    };
    const ports = { port: 0, executionPort: 0 };
    const zones = await startBothZones({
      config,
      directory,
      storeFolder,
      ...ports,
      slack,
      log,
      observe,
    });
    try {
      const { message } = fakeSlack.ask({
        eventsUrl: `${zones.verificationUrl}/slack/events`,
        text,
      });
      const task = await Promise.race([over.promise, waitForAbort(run.signal)]);
      const [, ...answer] = fakeSlack.thread(message);
      if (task?.question !== undefined && task.state === "asking") {
        run.print(sanitizeLines(task.question.prompt));
        run.note(
          "The agent asks a question, which nobody can answer with --once. Leave out --once.",
        );
      } else if (task !== undefined)
        run.print(sanitizeLines(answer.map((part) => unescapeMrkdwn(part.text)).join("\n")));
      if (task === undefined) return exitCodes.interrupted;
      return task.outcome?.type === "answer" ? exitCodes.success : exitCodes.failed;
    } finally {
      await zones.close();
    }
  } finally {
    await fakeSlack.close();
    rmSync(storeFolder, { recursive: true, force: true });
  }
}

function common(
  run: CommandRun,
  { config, directory, environment: { port, executionPort, metricsPort } }: Given,
) {
  return { config, directory, storeFolder: storeFolderOf(run), port, executionPort, metricsPort };
}

function storeFolderOf({ directory }: CommandRun): string {
  return join(directory, ".sekisho");
}

function logsOf({ environment, config }: Pick<Given, "environment" | "config">) {
  const settings = toLogSettings({ environment, config: config.telemetry.logs, level: "warn" });
  return (service: "verification" | "execution" | "sekisho") =>
    createLocalLog({ service, ...settings });
}
