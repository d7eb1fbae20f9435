/** The operations of A2A: their method names in 1.0 and 0.3 (sections 9.4 and 7), and their params in 1.0. */
import * as z from "zod";
import { messageSchema } from "./part.ts";
import { pushConfigSchema } from "./push.ts";
import { a2aStateSchema } from "./task.ts";
import { idSchema, optionalList, optionalText, optionalValue, structSchema } from "./values.ts";

const tenant = optionalText(256);
const historyLength = optionalValue(z.int().min(0));

export const sendConfigurationSchema = z.object({
  acceptedOutputModes: optionalList(z.string().max(255), 50),
  taskPushNotificationConfig: optionalValue(pushConfigSchema),
  historyLength,
  /** By default the operation waits until the task's turn ends. */
  returnImmediately: optionalValue(z.boolean()),
});

const sendMessageParams = z.object({
  tenant,
  message: messageSchema.refine(({ role }) => role === "ROLE_USER", {
    path: ["role"],
    message: "must be ROLE_USER",
  }),
  configuration: optionalValue(sendConfigurationSchema),
  metadata: structSchema,
});
const taskParams = z.object({ tenant, id: idSchema });
const pushParams = z.object({ tenant, taskId: idSchema, id: idSchema });

/** The params of each operation, by its name in 1.0. Unknown members are ignored. */
export const operations = {
  SendMessage: sendMessageParams,
  SendStreamingMessage: sendMessageParams,
  GetTask: z.object({ tenant, id: idSchema, historyLength }),
  ListTasks: z.object({
    tenant,
    contextId: optionalText(256),
    /** `UNSPECIFIED`, the enum's default, filters nothing. */
    status: optionalValue(
      z
        .union([a2aStateSchema, z.literal("TASK_STATE_UNSPECIFIED")])
        .transform((state) => (state === "TASK_STATE_UNSPECIFIED" ? undefined : state)),
    ),
    /** The protocol's default is 50. */
    pageSize: z
      .int()
      .min(1)
      .max(100)
      .nullish()
      .transform((size) => size ?? 50),
    pageToken: optionalText(1024),
    historyLength,
    statusTimestampAfter: optionalValue(z.iso.datetime({ offset: true })),
    includeArtifacts: optionalValue(z.boolean()),
  }),
  CancelTask: z.object({ tenant, id: idSchema, metadata: structSchema }),
  SubscribeToTask: taskParams,
  CreateTaskPushNotificationConfig: pushConfigSchema.extend({ taskId: idSchema }),
  GetTaskPushNotificationConfig: pushParams,
  ListTaskPushNotificationConfigs: z.object({
    tenant,
    taskId: idSchema,
    pageSize: optionalValue(z.int().min(0)),
    pageToken: optionalText(1024),
  }),
  DeleteTaskPushNotificationConfig: pushParams,
  GetExtendedAgentCard: z
    .object({ tenant })
    .nullish()
    .transform((params) => params ?? { tenant: undefined }),
} as const;

export type OperationName = keyof typeof operations;
export type OperationParams<O extends OperationName> = z.output<(typeof operations)[O]>;

/** The method names of 0.3, which cannot list tasks over JSON-RPC. */
const legacyNames: Partial<Record<OperationName, string>> = {
  SendMessage: "message/send",
  SendStreamingMessage: "message/stream",
  GetTask: "tasks/get",
  CancelTask: "tasks/cancel",
  SubscribeToTask: "tasks/resubscribe",
  CreateTaskPushNotificationConfig: "tasks/pushNotificationConfig/set",
  GetTaskPushNotificationConfig: "tasks/pushNotificationConfig/get",
  ListTaskPushNotificationConfigs: "tasks/pushNotificationConfig/list",
  DeleteTaskPushNotificationConfig: "tasks/pushNotificationConfig/delete",
  GetExtendedAgentCard: "agent/getAuthenticatedExtendedCard",
};

export type A2aVersion = "1.0" | "0.3";

/** Undefined if the version does not have the operation. */
export function toA2aMethod(request: {
  operation: OperationName;
  version: A2aVersion;
}): string | undefined {
  const { operation, version } = request;
  return version === "1.0" ? operation : legacyNames[operation];
}

type NamedOperation = { operation: OperationName; version: A2aVersion };

const byMethod: ReadonlyMap<string, NamedOperation> = new Map(
  (["1.0", "0.3"] as const).flatMap((version) =>
    (Object.keys(operations) as OperationName[]).flatMap(
      (operation): [string, NamedOperation][] => {
        const method = toA2aMethod({ operation, version });
        return method === undefined ? [] : [[method, { operation, version }]];
      },
    ),
  ),
);

/** Undefined for a method that is not A2A's. */
export function toA2aOperation(method: string): NamedOperation | undefined {
  return byMethod.get(method);
}
