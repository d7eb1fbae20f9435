/** The operations on a task's push configurations (A2A 1.0, sections 3.1.7 to 3.1.10), which are kept in the task's record. */

import { isIP } from "node:net";
import type { A2aVersion, OperationParams } from "../../../contracts/a2a/operations.ts";
import type { PushConfig } from "../../../contracts/a2a/push.ts";
import { SekishoError } from "../../../contracts/errors.ts";
import { isLoopbackHost } from "../../../contracts/loopback.ts";
import { parseUrl } from "../../shared/untrusted-input.ts";
import { isAsking, isOver, type TaskChange } from "../tasks/changes.ts";
import type { ExecutionTask, StoredPushConfig } from "../tasks/execution-task.ts";
import { checkSize } from "../tasks/task-store.ts";
import type { Tasks } from "../tasks/tasks.ts";
import type { PushOutbox } from "./push-outbox.ts";

/** Of one task; the record has room for no more beside what the task works on. */
const maxConfigs = 10;
const maxConfigsBytes = 32 * 1024;

type TaskPushConfig = PushConfig & { taskId: string };
type ConfigRequest<P> = { principal: string; params: P };
type InlineConfig = { taskId: string; config: PushConfig | undefined; version: A2aVersion };

/** Everything rejects with `push_not_supported` where there is no outbox, and with `task_not_found` for a foreign task. */
export type PushConfigs = {
  /** Also of a task that is over. One that is over or asks is told of at once: what changed before is not told again. */
  create(
    request: ConfigRequest<OperationParams<"CreateTaskPushNotificationConfig">> & { version: A2aVersion },
  ): Promise<TaskPushConfig>;
  /** Rejects with `task_not_found` for an unknown configuration, too. */
  get(request: ConfigRequest<OperationParams<"GetTaskPushNotificationConfig">>): Promise<TaskPushConfig>;
  /** All of them, whatever page was asked for. */
  list(
    request: ConfigRequest<OperationParams<"ListTaskPushNotificationConfigs">>,
  ): Promise<{ configs: TaskPushConfig[] }>;
  delete(request: ConfigRequest<OperationParams<"DeleteTaskPushNotificationConfig">>): Promise<Record<string, never>>;
  /** What came with a message, to be kept with the task that it begins, or with its answer. */
  read(request: InlineConfig): StoredPushConfig | undefined;
  /** Sees to it that the task has what came with a message, also where the message came before. Resolves to the task. */
  attach(request: { task: ExecutionTask; config: StoredPushConfig | undefined }): Promise<ExecutionTask>;
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
    return { id: config.id ?? id, url, token, authentication, version, registrationId: newId() };
  }

  async function keep({ principal, taskId, config }: { principal: string; taskId: string; config: StoredPushConfig }) {
    const { notify, watch } = supported();
    const task = await tasks.update({ principal, taskId, change: withPushConfig(config) });
    if (isOver(task) || isAsking(task)) await notify({ task, configId: config.id });
    if (!isOver(task)) await watch({ task, config });
    return task;
  }

  return {
    async create({ principal, params: { taskId, tenant, ...config }, version }) {
      supported();
      const at = version === "0.3" ? "pushNotificationConfig." : "";
      // Clients of 0.3 ask for a configuration without an id by the task's.
      const kept = checked({ config, id: version === "0.3" ? taskId : newId(), version, at });
      await keep({ principal, taskId, config: kept });
      return toPushConfig({ taskId, tenant, config: kept });
    },
    async get({ principal, params: { taskId, tenant, id } }) {
      supported();
      const config = readConfigs(await tasks.find({ principal, taskId })).find((each) => each.id === id);
      if (config === undefined) throw new SekishoError("task_not_found", { details: { task_id: taskId } });
      return toPushConfig({ taskId, tenant, config });
    },
    async list({ principal, params: { taskId, tenant } }) {
      supported();
      const configs = readConfigs(await tasks.find({ principal, taskId }));
      return { configs: configs.map((config) => toPushConfig({ taskId, tenant, config })) };
    },
    async delete({ principal, params: { taskId, id } }) {
      supported();
      await tasks.update({ principal, taskId, change: removeConfig(id) });
      return {};
    },
    read({ taskId, config, version }) {
      if (config === undefined) return undefined;
      supported();
      return checked({ config, id: taskId, version, at: inMessage[version] });
    },
    async attach({ task, config }) {
      const isThere = readConfigs(task).some(({ registrationId }) => registrationId === config?.registrationId);
      const { principal, id: taskId } = task;
      return config === undefined || isThere ? task : keep({ principal, taskId, config });
    },
  };
}

const inMessage: Record<A2aVersion, string> = {
  "1.0": "configuration.taskPushNotificationConfig.",
  "0.3": "configuration.pushNotificationConfig.",
};

function readConfigs({ a2a }: ExecutionTask): StoredPushConfig[] {
  return a2a?.pushConfigs ?? [];
}

/** In place of the one with the same id. Throws `invalid_params` where there would be too many, and `payload_too_large`. */
export function withPushConfig(config: StoredPushConfig): TaskChange {
  return (task) => {
    // A task of the zone contract has nobody who speaks A2A.
    if (task.a2a === undefined) throw new SekishoError("task_not_found");
    const pushConfigs = [...readConfigs(task).filter(({ id }) => id !== config.id), config];
    const bytes = Buffer.byteLength(JSON.stringify(pushConfigs));
    if (pushConfigs.length > maxConfigs || bytes > maxConfigsBytes) {
      const issues = [
        { path: "", message: `a task has at most ${maxConfigs} configurations and ${maxConfigsBytes} bytes of them` },
      ];
      throw new SekishoError("invalid_params", { details: { task_id: task.id, issues } });
    }
    return checkSize({ ...task, a2a: { ...task.a2a, pushConfigs } });
  };
}

function removeConfig(id: string): TaskChange {
  return (task) => {
    const pushConfigs = readConfigs(task).filter((each) => each.id !== id);
    if (task.a2a === undefined || pushConfigs.length === readConfigs(task).length) return undefined;
    return { ...task, a2a: { ...task.a2a, pushConfigs } };
  };
}

function toPushConfig({
  taskId,
  tenant,
  config: { version: _version, registrationId: _registrationId, ...config },
}: {
  taskId: string;
  tenant: string | undefined;
  config: StoredPushConfig;
}): TaskPushConfig {
  return { ...config, taskId, tenant };
}

type Issue = { path: string; message: string };

/** Visible ASCII with spaces in between: what a header may hold without ending it. */
const headerValue = /^[!-~](?:[ -~]*[!-~])?$/;

/** Paths are those of the configuration's own members. A name that leads to no public address shows at delivery. */
export function pushTargetIssues({
  config: { url, token, authentication },
  allowLoopback,
}: {
  config: PushConfig;
  allowLoopback: boolean;
}): Issue[] {
  const inHeaders = { token, "authentication.credentials": authentication?.credentials };
  const unfit = Object.entries(inHeaders).filter(([, text]) => text !== undefined && !headerValue.test(text));
  const problem = urlProblem({ url: parseUrl(url), allowLoopback });
  return [
    ...(problem === undefined ? [] : [{ path: "url", message: problem }]),
    ...unfit.map(([path]) => ({ path, message: "must be printable ASCII, with no space at its ends" })),
  ];
}

function urlProblem({ url, allowLoopback }: { url: URL | null; allowLoopback: boolean }): string | undefined {
  if (url === null) return "must be an absolute URL";
  if (url.username !== "" || url.password !== "") return "must not hold a user or a password";
  const isHere = isLoopbackHost(url.hostname);
  if (url.protocol !== "https:" && !(isHere && allowLoopback && url.protocol === "http:")) return "must be https";
  if (isHere) return allowLoopback ? undefined : "must not be this machine";
  return isName(url.hostname) ? undefined : "must be the name of a host, and not of this machine";
}

/** `hostname` is in the one form that the URL parser gives to every spelling of an address. A name is looked up at delivery. */
function isName(hostname: string): boolean {
  const bare = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  return isIP(bare) === 0 && !/(^|\.)localhost\.?$/.test(bare);
}
