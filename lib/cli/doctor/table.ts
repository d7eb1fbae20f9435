/** The table of all checks of `sekisho doctor`, in the order of the report. */
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { checkAgent, listAgentChecks } from "./agents.ts";
import { checkMachineKeys, checkStageKeys, listAskerChecks } from "./asker.ts";
import { checkClock, checkEntry, checkSigningSecret } from "./entry.ts";
import * as machine from "./machine.ts";
import { checkAlarms, checkStory } from "./send.ts";
import { checkAllowlist, checkAppToken, checkBotToken, checkScopes } from "./slack.ts";
import * as stage from "./stage.ts";
import type { StoryName } from "./stories.ts";
import type { DeployedStage, DoctorTable, Machine, Sent, Subject } from "./targets.ts";

export const destinationsGroup = "Destinations";

/** A machine that runs the fake Slack has none of Slack's checks. */
const withSlack =
  (name: string) =>
  ({ hasSlack }: Subject) =>
    hasSlack ? [name] : [];

const deadLettersText = ({ stageOption }: Subject) =>
  `${sekisho} dead-letters list${stageOption} lists them. Redrive them when the cause is fixed.`;
const askerText = ({ stageOption }: Subject) => `Run ${sekisho} asker show${stageOption}.`;
const deployText = ({ deploy }: DeployedStage) => `Run ${deploy} to deploy the file.`;
const manifestText = ({ manifestCommand }: Subject) =>
  `Paste what ${manifestCommand} prints under "App Manifest" of the app, and reinstall the app ("Install App").`;

export const checks: DoctorTable = [
  {
    group: "Configuration",
    checks: [
      {
        name: "Node",
        where: "here",
        run: () => machine.checkNode(),
        advice:
          "Install Node 24 (https://nodejs.org), or run npm ci on Linux, which installs a pinned one.",
      },
      {
        name: "proxy",
        where: "here",
        run: machine.checkProxy,
        advice: "Correct the environment variables.",
      },
      {
        name: "configuration",
        where: "here",
        run: machine.checkConfiguration,
        advice: `${sekisho} config check lists every problem.`,
      },
    ],
  },
  {
    group: "This machine",
    checks: [
      {
        name: "secrets",
        where: "machine",
        run: machine.checkSecrets,
        advice:
          "Set each variable where sekisho is started; for Secrets Manager, AWS_PROFILE and AWS_REGION.",
      },
      {
        name: "AWS credentials",
        where: "machine",
        run: machine.checkAwsCaller,
        advice: "Set AWS_PROFILE, or log in as for the AWS command line.",
      },
      {
        name: "Verification port",
        where: "machine",
        run: (target) => machine.checkPort("Verification", target),
        advice: "Set another port: SEKISHO_PORT.",
      },
      {
        name: "Execution port",
        where: "machine",
        run: (target) => machine.checkPort("Execution", target),
        advice: "Set another port: SEKISHO_EXECUTION_PORT.",
      },
      {
        name: "disk",
        where: "machine",
        run: (target) => machine.checkDisk(target),
        advice: "Free some disk space: tasks, their answers and files of messages are kept there.",
      },
      ...["verification.db", "execution.db"].map((file) => ({
        name: `store ${file}`,
        where: "machine" as const,
        run: (target: Machine) => machine.checkStore(target, file),
        advice: "Stop the zones, then restore the file from a copy or move it away.",
      })),
      {
        name: "queue verification.db",
        where: "machine",
        run: (target) => machine.checkQueue(target, "verification.db"),
        advice: "Use a local disk, because sqlite needs its file locks.",
      },
    ],
  },
  {
    group: "Stage",
    checks: [
      {
        name: "credentials",
        where: "stage",
        run: stage.checkCaller,
        advice: "Set AWS_PROFILE to a profile of the stage's Verification account.",
      },
      { name: "stack", where: "stage", run: stage.checkStack, advice: deployText },
      {
        name: "live settings",
        where: "stage",
        run: stage.checkLiveSettings,
        advice: ({ stageOption }) =>
          `Run ${sekisho} config push${stageOption} from the folder of the deployed version.`,
      },
      {
        name: "queue",
        where: "stage",
        run: stage.checkQueue,
        advice: ({ stageOption }) =>
          `If there are not fewer soon, look at the alarms MessagesWait, WorkerErrors and WorkerThrottles, then at the worker's log. ${sekisho} tasks list${stageOption}`,
      },
      {
        name: "dead letters",
        where: "stage",
        run: stage.checkDeadLetters,
        advice: deadLettersText,
      },
      {
        name: "worker",
        where: "stage",
        run: stage.checkWorker,
        advice: ({ deploy }) =>
          `${deploy} restores the role's permissions; then look at the worker's log.`,
      },
      {
        name: "secrets",
        where: "stage",
        run: stage.checkSecrets,
        advice: ({ stageOption }) =>
          `${sekisho} secrets put${stageOption} writes those of variables. Others must be written by their owner.`,
      },
    ],
  },
  {
    group: "Slack",
    checks: [
      {
        name: withSlack("bot token"),
        where: "both",
        run: checkBotToken,
        advice: "Check the bot token.",
      },
      {
        name: withSlack("token scopes"),
        where: "both",
        run: checkScopes,
        advice: manifestText,
      },
      {
        name: withSlack("app token"),
        where: "machine",
        run: checkAppToken,
        advice: "Check the app token.",
      },
      { name: "entry", where: "both", run: checkEntry, advice: "Look at the log of the entry." },
      {
        name: withSlack("signing secret"),
        where: "both",
        run: checkSigningSecret,
        advice: "See the check of the entry.",
      },
      {
        name: withSlack("who may ask"),
        where: "both",
        run: checkAllowlist,
        advice: ({ stageOption }) =>
          `Run ${sekisho} allow add --team T012AB3CD${stageOption} with your workspace's ID.`,
      },
      {
        name: "clock",
        where: "both",
        run: checkClock,
        advice: "Set this machine's clock, best by NTP (Linux: timedatectl set-ntp true).",
      },
    ],
  },
  {
    group: "Who asked",
    checks: [
      {
        name: listAskerChecks,
        where: "machine",
        run: checkMachineKeys,
        advice: askerText,
      },
      { name: listAskerChecks, where: "stage", run: checkStageKeys, advice: askerText },
    ],
  },
  {
    group: "Agents that are called over HTTP",
    checks: [
      {
        name: listAgentChecks,
        where: "machine",
        run: checkAgent,
        advice: "Check its address in the configuration, and whether it is running.",
      },
    ],
  },
  {
    group: destinationsGroup,
    checks: [
      {
        name: ({ destinations }) => destinations,
        where: "both",
        run: ({ checkDestination }, name) => checkDestination(name),
        advice: "Run the command again. If it fails again, look at the network.",
      },
    ],
  },
  {
    group: "Tasks of --send",
    checks: [
      ...storyRows({
        question: "The timeline shows where it stopped: sekisho tasks show ID.",
        file: "The timeline shows where it stopped: sekisho tasks show ID.",
        cancel: "Look at call_failed in the worker's log, by its cause_kind.",
        wakes: "Look at the alarms LoopStopped, and at RecursiveLoop of the worker's function.",
        long: "Look at the sessions of that task in the runtime's log group, and at the answers of GET /ping.",
      }),
      {
        name: "alarms",
        where: "sent",
        run: checkAlarms,
        advice: "docs/reference/alarms.md says what each means.",
      },
      {
        name: "dead letters of the tasks",
        where: "sent",
        async run({ target }) {
          const finding = await stage.checkDeadLetters(target);
          return finding.status === "warning" ? { ...finding, status: "failed" } : finding;
        },
        advice: ({ target }) => deadLettersText(target),
      },
    ],
  },
];

function storyRows(advices: Record<StoryName, string>) {
  const names = Object.keys(advices) as StoryName[];
  return names.map((name) => ({
    name,
    where: "sent" as const,
    run: (target: Sent) => checkStory(target, name),
    advice: advices[name],
  }));
}
