/** The operations on a task's push configurations (A2A 1.0, sections 3.1.7 to 3.1.10), which are stored in the task's record. */

import { isIP } from "node:net";
import type { A2aVersion, OperationParams } from "@sekisho/contracts/a2a/operations.ts";
import type { PushConfig } from "@sekisho/contracts/a2a/push.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { isLoopbackHost } from "@sekisho/contracts/loopback.ts";
import { parseUrl } from "@sekisho/runtime/untrusted-input.ts";
import { isAsking, isOver, type TaskChange } from "../tasks/changes.ts";
import type { ExecutionTask, StoredPushConfig } from "../tasks/execution-task.ts";
import { checkSize } from "../tasks/record-size.ts";
import type { Tasks } from "../tasks/tasks.ts";
import type { PushOutbox } from "./push-outbox.ts";

/** The limits for one task, whose record must also hold its input and its messages. */
const maxConfigs = 10;
const maxConfigsBytes = 32 * 1024;

type TaskPushConfig = PushConfig & { taskId: string };
type ConfigRequest<P> = { principal: string; params: P };
type InlineConfig = { taskId: string; config: PushConfig | undefined; version: A2aVersion };

/** Everything rejects with `push_not_supported` without an outbox, and with `task_not_found` for a task of another caller. */
export type PushConfigs = {
  /** Also accepts a task that is over. If the task is over or asks a question, sends a notification at once. Earlier changes are not sent. */
  create(
    request: ConfigRequest<OperationParams<"CreateTaskPushNotificationConfig">> & {
      version: A2aVersion;
    },
  ): Promise<TaskPushConfig>;
  /** Also rejects with `task_not_found` for an unknown configuration. */
  get(
    request: ConfigRequest<OperationParams<"GetTaskPushNotificationConfig">>,
  ): Promise<TaskPushConfig>;
  /** Returns all of them, whatever page was requested. */
  list(
    request: ConfigRequest<OperationParams<"ListTaskPushNotificationConfigs">>,
  ): Promise<{ configs: TaskPushConfig[] }>;
  delete(
    request: ConfigRequest<OperationParams<"DeleteTaskPushNotificationConfig">>,
  ): Promise<Record<string, never>>;
  /** Checks the configuration that came with a message. */
  read(request: InlineConfig): StoredPushConfig | undefined;
  /** Adds the configuration that came with a message, unless the task has it. Resolves to the task. */
  attach(request: {
    task: ExecutionTask;
    config: StoredPushConfig | undefined;
  }): Promise<ExecutionTask>;
};

export function createPushConfigs(options: {
  tasks: Pick<Tasks, "find" | "update">;
  outbox: PushOutbox | undefined;
  allowLoopback: boolean;
  newId: () => string;
}): PushConfigs {
  const { tasks, outbox, allowLoopback, newId } = options;
  function requireOutbox(): PushOutbox {
    if (outbox === undefined) throw new SekishoError("push_not_supported");
    return outbox;
  }

  /** `at` is the path of the configuration in the params. Throws `invalid_params`. */
  function checkConfig({
    config,
    id,
    version,
    at,
  }: {
    config: PushConfig;
    id: string;
    version: A2aVersion;
    at: string;
  }) {
    const { url, token, authentication } = config;
    const issues = pushTargetIssues({ config, allowLoopback }).map((issue) => ({
      ...issue,
      path: at + issue.path,
    }));
    if (issues.length > 0) throw new SekishoError("invalid_params", { details: { issues } });
    return { id: config.id ?? id, url, token, authentication, version, registrationId: newId() };
  }

  async function storeConfig({
    principal,
    taskId,
    config,
  }: {
    principal: string;
    taskId: string;
    config: StoredPushConfig;
  }) {
    const { notify, watch } = requireOutbox();
    const task = await tasks.update({ principal, taskId, change: withPushConfig(config) });
    if (isOver(task) || isAsking(task)) await notify({ task, configId: config.id });
    if (!isOver(task)) await watch({ task, config });
    return task;
  }

  return {
    async create({ principal, params: { taskId, tenant, ...config }, version }) {
      requireOutbox();
      const at = version === "0.3" ? "pushNotificationConfig." : "";
      // Clients of 0.3 refer to a configuration without an id by the task's id.
      const storedConfig = checkConfig({
        config,
        id: version === "0.3" ? taskId : newId(),
        version,
        at,
      });
      await storeConfig({ principal, taskId, config: storedConfig });
      return toPushConfig({ taskId, tenant, config: storedConfig });
    },
    async get({ principal, params: { taskId, tenant, id } }) {
      requireOutbox();
      const config = findConfig({ task: await tasks.find({ principal, taskId }), id });
      if (config === undefined)
        throw new SekishoError("task_not_found", { details: { task_id: taskId } });
      return toPushConfig({ taskId, tenant, config });
    },
    async list({ principal, params: { taskId, tenant } }) {
      requireOutbox();
      const configs = readConfigs(await tasks.find({ principal, taskId }));
      return { configs: configs.map((config) => toPushConfig({ taskId, tenant, config })) };
    },
    async delete({ principal, params: { taskId, id } }) {
      requireOutbox();
      await tasks.update({ principal, taskId, change: removeConfig(id) });
      return {};
    },
    read({ taskId, config, version }) {
      if (config === undefined) return undefined;
      requireOutbox();
      return checkConfig({ config, id: taskId, version, at: inMessage[version] });
    },
    async attach({ task, config }) {
      const isThere = readConfigs(task).some(
        ({ registrationId }) => registrationId === config?.registrationId,
      );
      const { principal, id: taskId } = task;
      return config === undefined || isThere ? task : storeConfig({ principal, taskId, config });
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

/** Replaces a configuration with the same id. Throws `invalid_params` if there are too many, and `payload_too_large`. */
export function withPushConfig(config: StoredPushConfig): TaskChange {
  return (task) => {
    // A task of the zone contract has no A2A client.
    if (task.a2a === undefined) throw new SekishoError("task_not_found");
    const pushConfigs = [...readConfigs(task).filter(({ id }) => id !== config.id), config];
    const bytes = Buffer.byteLength(JSON.stringify(pushConfigs));
    if (pushConfigs.length > maxConfigs || bytes > maxConfigsBytes) {
      const issues = [
        {
          path: "",
          message: `a task has at most ${maxConfigs} configurations and ${maxConfigsBytes} bytes of them`,
        },
      ];
      throw new SekishoError("invalid_params", { details: { task_id: task.id, issues } });
    }
    return checkSize({ ...task, a2a: { ...task.a2a, pushConfigs } });
  };
}

/** A configuration without an id has the id of its task. Clients of 0.3 also call it `default`. */
function findConfig({
  task,
  id,
}: {
  task: ExecutionTask;
  id: string;
}): StoredPushConfig | undefined {
  const configs = readConfigs(task);
  return (
    configs.find((each) => each.id === id) ??
    configs.find((each) => id === "default" && each.id === task.id)
  );
}

function removeConfig(id: string): TaskChange {
  return (task) => {
    const config = findConfig({ task, id });
    if (task.a2a === undefined || config === undefined) return undefined;
    const pushConfigs = readConfigs(task).filter((each) => each !== config);
    return { ...task, a2a: { ...task.a2a, pushConfigs } };
  };
}

function toPushConfig(request: {
  taskId: string;
  tenant: string | undefined;
  config: StoredPushConfig;
}): TaskPushConfig {
  const { taskId, tenant } = request;
  const { version: _version, registrationId: _registrationId, ...config } = request.config;
  return { ...config, taskId, tenant };
}

type Issue = { path: string; message: string };

/** Visible ASCII with spaces in between, so that the value cannot end its header line and add another header. */
const headerValue = /^[!-~](?:[ -~]*[!-~])?$/;

/** Paths are relative to the configuration. A name without a public address is detected at delivery. */
export function pushTargetIssues(request: { config: PushConfig; allowLoopback: boolean }): Issue[] {
  const { allowLoopback } = request;
  const { url, token, authentication } = request.config;
  const inHeaders = { token, "authentication.credentials": authentication?.credentials };
  const unfit = Object.entries(inHeaders).filter(
    ([, text]) => text !== undefined && !headerValue.test(text),
  );
  const problem = urlProblem({ url: parseUrl(url), allowLoopback });
  return [
    ...(problem === undefined ? [] : [{ path: "url", message: problem }]),
    ...unfit.map(([path]) => ({
      path,
      message: "must be printable ASCII, with no space at its ends",
    })),
  ];
}

function urlProblem({
  url,
  allowLoopback,
}: {
  url: URL | null;
  allowLoopback: boolean;
}): string | undefined {
  if (url === null) return "must be an absolute URL";
  if (url.username !== "" || url.password !== "") return "must not hold a user or a password";
  const isHere = isLoopbackHost(url.hostname);
  if (url.protocol !== "https:" && !(isHere && allowLoopback && url.protocol === "http:"))
    return "must be https";
  if (isHere) return allowLoopback ? undefined : "must not be this machine";
  return isName(url.hostname) ? undefined : "must have a host name, not an IP address or localhost";
}

/** The URL parser has normalized `hostname`, so that every spelling of an address is recognized. Names are resolved at delivery. */
function isName(hostname: string): boolean {
  const bare = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  return isIP(bare) === 0 && !/(^|\.)localhost\.?$/.test(bare);
}
