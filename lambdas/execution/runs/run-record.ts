/** The record of one run: renews its lease, stores its reports, and stores how its turn ended exactly once. */
import { setTimeout as sleep } from "node:timers/promises";
import { backoffMs } from "@sekisho/runtime/async/waiting.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import {
  endChange,
  questionChange,
  type RunReport,
  renewChange,
  reportChange,
  type TaskChange,
} from "../tasks/changes.ts";
import type { ExecutionTask, RunTimes } from "../tasks/execution-task.ts";
import { createFittingChange, dropHistory } from "../tasks/record-size.ts";
import type { ChangeTask, TaskSignal } from "../tasks/task-store.ts";
import type { StopCause } from "../tasks/tasks.ts";
import type { AgentTurn } from "./collect-outcome.ts";
import { createLatestWriter } from "./latest-writer.ts";

export type RecordSettings = Pick<
  RunTimes,
  "leaseMs" | "renewMs" | "lostAfterMs" | "progressMs" | "questionMs" | "retentionMs"
> & {
  changeTask: ChangeTask;
  changeSignal: TaskSignal;
  now: () => number;
  newId: () => string;
  random: () => number;
};

type RunRecord = {
  /** The task's record as this process changed it last, which need not have been the run. */
  latest(): ExecutionTask;
  report(report: RunReport): void;
  /**
   * Ends the renewals and reports, and stores the turn, if there is one. Resolves to the record as the run knows it, once the turn is
   * stored or this run may no longer store it. Never rejects.
   */
  close(turn: AgentTurn | undefined): Promise<ExecutionTask>;
};

/** `task` holds a lease of `owner`. `onLoss` is called if another process has ended the task or taken it over. */
export function openRunRecord(options: {
  settings: RecordSettings;
  task: ExecutionTask;
  owner: string;
  log: Log;
  onLoss: (cause: StopCause) => void;
}): RunRecord {
  const { settings, owner, log, onLoss } = options;
  const { changeTask, changeSignal, leaseMs, renewMs, lostAfterMs, progressMs, now, random } =
    settings;
  let runTask = options.task;
  let latestTask = runTask;
  let isClosed = false;
  const stopListening = changeSignal.listen({
    id: runTask.id,
    listener: (task) => (latestTask = task),
  });
  const reports = createLatestWriter<RunReport>({
    // A failure is ignored: newer progress follows soon, and a lost lease shows at the next renewal.
    write: (report) => write(createReportChange({ owner, report })).catch(() => {}),
    intervalMs: progressMs,
  });
  let renewTimer = setTimeout(renewLease, renewMs);

  function write(change: TaskChange): Promise<void> {
    return changeTask({ task: runTask, change }).then(({ task, isChanged }) => {
      if (isChanged && task !== undefined) runTask = task;
      else onLoss(task?.state === "canceled" ? "canceled" : "superseded");
    });
  }

  /** After this time, other processes count the task as lost. */
  function isLeaseLost(): boolean {
    return now() >= (runTask.lease?.untilMs ?? 0) + lostAfterMs;
  }

  async function renewLease(): Promise<void> {
    try {
      await write(renewChange({ owner, untilMs: now() + leaseMs }));
    } catch {
      // The store is unavailable.
      if (isLeaseLost()) onLoss("superseded");
    }
    if (!isClosed) renewTimer = setTimeout(renewLease, renewMs);
  }

  return {
    latest: () => latestTask,
    report: reports.put,
    async close(turn) {
      isClosed = true;
      clearTimeout(renewTimer);
      reports.close();
      for (let attempt = 0; turn !== undefined; attempt++) {
        try {
          await write(createTurnChange({ turn, owner, settings }));
          break;
        } catch (error) {
          if (isLeaseLost()) {
            const cause_kind = errorKind(error);
            log.error("outcome_not_stored", { reason: "unavailable", cause_kind });
            break;
          }
          await sleep(backoffMs({ attempt, baseMs: 100, capMs: 2000, random }));
        }
      }
      stopListening();
      return runTask;
    },
  };
}

/** If the report does not fit into the record, leaves out artifacts and partial text, which are stored at the end. */
function createReportChange({ owner, report }: { owner: string; report: RunReport }): TaskChange {
  const { artifacts: _artifacts, ...withoutArtifacts } = report;
  const { partial_text: _text, ...progress } = report.progress ?? {};
  const withoutText = { ...(report.progress && { progress }) };
  return createFittingChange(
    [report, withoutArtifacts, withoutText].map((news) => reportChange({ owner, news })),
  );
}

function createTurnChange(options: {
  turn: AgentTurn;
  owner: string;
  settings: RecordSettings;
}): TaskChange {
  const { turn, owner, settings } = options;
  const { questionMs, retentionMs, now, newId } = settings;
  const nowMs = now();
  const artifacts = turn.artifacts.length > 0 ? { artifacts: turn.artifacts } : {};
  const ends = { owner, expiresAtMs: nowMs + retentionMs };
  const tooLarge = endChange({
    ...ends,
    outcome: { type: "failure", reason: "payload_too_large" },
  });
  if (turn.end.type !== "question") {
    const wholeChange = endChange({ ...ends, outcome: turn.end, ...artifacts });
    return createFittingChange([wholeChange, dropHistory(wholeChange), tooLarge]);
  }
  const { type: _type, ...agentQuestion } = turn.end;
  const endAtMs = nowMs + Math.min(questionMs, retentionMs);
  const question = { ...agentQuestion, messageId: newId(), expiresAtMs: endAtMs };
  return createFittingChange([
    questionChange({ owner, question, expiresAtMs: endAtMs + retentionMs, ...artifacts }),
    tooLarge,
  ]);
}
