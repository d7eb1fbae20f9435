/** The operations on a task's push configurations (A2A 1.0, sections 3.1.7 to 3.1.10), which are kept in the task's record. */
import type { A2aVersion, OperationParams } from "../../../../contracts/a2a/operations.ts";
import type { PushConfig } from "../../../../contracts/a2a/push.ts";
import { SekishoError } from "../../../../contracts/errors.ts";
import { type Change, isAsking, isOver } from "../changes.ts";
import type { ExecutionTask, StoredPushConfig } from "../execution-task.ts";
import type { Tasks } from "../tasks.ts";
import type { PushOutbox } from "./push-outbox.ts";
import { pushTargetIssues } from "./push-target.ts";

/** Of one task; the record has room for no more beside what the task works on. */
const maxConfigs = 10;
const maxConfigsBytes = 32 * 1024;

type TaskPushConfig = PushConfig & { taskId: string };
type Asked<P> = { principal: string; params: P };
type Given = { taskId: string; config: PushConfig | undefined; version: A2aVersion };

/** Everything rejects with `push_not_supported` where there is no outbox, and with `task_not_found` for a foreign task. */
export type PushConfigs = {
  /** Also of a task that is over. One that is over or asks is told of at once: what changed before is not told again. */
  create(
    request: Asked<OperationParams<"CreateTaskPushNotificationConfig">> & { version: A2aVersion },
  ): Promise<TaskPushConfig>;
  /** Rejects with `task_not_found` for an unknown configuration, too. */
  get(request: Asked<OperationParams<"GetTaskPushNotificationConfig">>): Promise<TaskPushConfig>;
  /** All of them, whatever page was asked for. */
  list(request: Asked<OperationParams<"ListTaskPushNotificationConfigs">>): Promise<{ configs: TaskPushConfig[] }>;
  delete(request: Asked<OperationParams<"DeleteTaskPushNotificationConfig">>): Promise<Record<string, never>>;
  /** What came with a message that begins a task. */
  forNewTask(request: Given): StoredPushConfig[] | undefined;
  /** What came with a message that goes on with a task, before it does. */
  attach(request: Given & { principal: string }): Promise<void>;
};

export function createPushConfigs({
  tasks,
  outbox,
  allowLoopback,
  newId,
}: {
  tasks: Pick<Tasks, "find" | "update">;
  /** Without one nobody could be told. */
  outbox: PushOutbox | undefined;
  allowLoopback: boolean;
  newId: () => string;
}): PushConfigs {
  function supported(): PushOutbox {
    if (outbox === undefined) throw new SekishoError("push_not_supported");
    return outbox;
  }

  /** `at` is where the configuration lies in the params. Throws `invalid_params`. */
  function checked({ config, id, version, at }: { config: PushConfig; id: string; version: A2aVersion; at: string }) {
    const { url, token, authentication } = config;
    const issues = pushTargetIssues({ config, allowLoopback }).map((issue) => ({ ...issue, path: at + issue.path }));
    if (issues.length > 0) throw new SekishoError("invalid_params", { details: { issues } });
    return { id: config.id ?? id, url, token, authentication, version };
  }

  return {
    async create({ principal, params: { taskId, tenant, ...config }, version }) {
      const { tell } = supported();
      const at = version === "0.3" ? "pushNotificationConfig." : "";
      // Clients of 0.3 ask for a configuration without an id by the task's.
      const kept = checked({ config, id: version === "0.3" ? taskId : newId(), version, at });
      const task = await tasks.update({ principal, taskId, change: put(kept) });
      if (isOver(task) || isAsking(task)) await tell({ task, configId: kept.id });
      return shown({ taskId, tenant, config: kept });
    },
    async get({ principal, params: { taskId, tenant, id } }) {
      supported();
      const config = configsOf(await tasks.find({ principal, taskId })).find((each) => each.id === id);
      if (config === undefined) throw new SekishoError("task_not_found", { details: { task_id: taskId } });
      return shown({ taskId, tenant, config });
    },
    async list({ principal, params: { taskId, tenant } }) {
      supported();
      const configs = configsOf(await tasks.find({ principal, taskId }));
      return { configs: configs.map((config) => shown({ taskId, tenant, config })) };
    },
    async delete({ principal, params: { taskId, id } }) {
      supported();
      await tasks.update({ principal, taskId, change: without(id) });
      return {};
    },
    forNewTask({ taskId, config, version }) {
      if (config === undefined) return undefined;
      supported();
      return [checked({ config, id: taskId, version, at: inMessage[version] })];
    },
    async attach({ principal, taskId, config, version }) {
      if (config === undefined) return;
      supported();
      const kept = checked({ config, id: taskId, version, at: inMessage[version] });
      await tasks.update({ principal, taskId, change: put(kept) });
    },
  };
}

const inMessage: Record<A2aVersion, string> = {
  "1.0": "configuration.taskPushNotificationConfig.",
  "0.3": "configuration.pushNotificationConfig.",
};

function configsOf({ a2a }: ExecutionTask): StoredPushConfig[] {
  return a2a?.pushConfigs ?? [];
}

/** In place of the one with the same id. Throws `invalid_params` where there would be too many. */
function put(config: StoredPushConfig): Change {
  return (task) => {
    // A task of the zone contract has nobody who speaks A2A.
    if (task.a2a === undefined) throw new SekishoError("task_not_found");
    const pushConfigs = [...configsOf(task).filter(({ id }) => id !== config.id), config];
    const bytes = Buffer.byteLength(JSON.stringify(pushConfigs));
    if (pushConfigs.length > maxConfigs || bytes > maxConfigsBytes) {
      const issues = [
        { path: "", message: `a task has at most ${maxConfigs} configurations and ${maxConfigsBytes} bytes of them` },
      ];
      throw new SekishoError("invalid_params", { details: { task_id: task.id, issues } });
    }
    return { ...task, a2a: { ...task.a2a, pushConfigs } };
  };
}

function without(id: string): Change {
  return (task) => {
    const pushConfigs = configsOf(task).filter((each) => each.id !== id);
    if (task.a2a === undefined || pushConfigs.length === configsOf(task).length) return undefined;
    return { ...task, a2a: { ...task.a2a, pushConfigs } };
  };
}

function shown({
  taskId,
  tenant,
  config: { version: _version, ...config },
}: {
  taskId: string;
  tenant: string | undefined;
  config: StoredPushConfig;
}): TaskPushConfig {
  return { ...config, taskId, tenant };
}
