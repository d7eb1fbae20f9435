/**
 * Reads the params of A2A 0.3's methods (section 7) and its push notification configurations (sections 6.8 to 6.10) as those of 1.0, and
 * writes them back.
 */
import * as z from "zod";
import {
  type OperationName,
  type OperationParams,
  operations,
  sendConfigurationSchema,
} from "../operations.ts";
import { authenticationInfoSchema, type PushConfig, pushConfigSchema } from "../push.ts";
import { idSchema, optionalValue } from "../values.ts";
import { messageToV03, v03MessageSchema } from "./message.ts";

const { scheme, credentials } = authenticationInfoSchema.shape;

/** 0.3 has a list of schemes and 1.0 has one, so the first counts. */
const authenticationSchema = z
  .object({ schemes: z.array(scheme).min(1).max(10), credentials })
  .transform(({ schemes: [scheme = ""], credentials }) => ({ scheme, credentials }));

/** The form within a message, which has no task yet. */
const v03PushTargetSchema = pushConfigSchema
  .omit({ tenant: true, taskId: true })
  .extend({ authentication: optionalValue(authenticationSchema) });

export const v03PushConfigSchema = z
  .object({ taskId: idSchema, pushNotificationConfig: v03PushTargetSchema })
  .transform(({ taskId, pushNotificationConfig }) => ({ taskId, ...pushNotificationConfig }));

function pushTargetToV03({
  id,
  url,
  token,
  authentication,
}: PushConfig): z.input<typeof v03PushTargetSchema> {
  if (authentication === undefined) return { id, url, token };
  const { scheme, credentials } = authentication;
  return { id, url, token, authentication: { schemes: [scheme], credentials } };
}

export function pushConfigToV03(
  config: PushConfig & { taskId: string },
): z.input<typeof v03PushConfigSchema> {
  return { taskId: config.taskId, pushNotificationConfig: pushTargetToV03(config) };
}

/** 0.3 cannot list tasks over JSON-RPC. */
export type V03OperationName = Exclude<OperationName, "ListTasks">;

/** Without `blocking` the agent waits, like the official agents of 0.3, and like 1.0 by default. */
const configurationSchema = sendConfigurationSchema
  .omit({ returnImmediately: true, taskPushNotificationConfig: true })
  .extend({
    blocking: optionalValue(z.boolean()),
    pushNotificationConfig: optionalValue(v03PushTargetSchema),
  })
  .transform(({ blocking, pushNotificationConfig, ...others }) => ({
    ...others,
    returnImmediately: blocking === undefined ? undefined : !blocking,
    taskPushNotificationConfig: pushNotificationConfig,
  }));

const sendParams = z.object({
  message: v03MessageSchema.refine(({ role }) => role === "ROLE_USER", {
    path: ["role"],
    message: "must be user",
  }),
  configuration: optionalValue(configurationSchema),
  metadata: operations.SendMessage.shape.metadata,
});

const pushId = { id: idSchema, pushNotificationConfigId: idSchema };

/** Reads the params of each operation as 1.0's. Unknown members are ignored. */
export const v03Operations: { [O in V03OperationName]: z.ZodType<OperationParams<O>> } = {
  SendMessage: sendParams,
  SendStreamingMessage: sendParams,
  GetTask: operations.GetTask.omit({ tenant: true }),
  CancelTask: operations.CancelTask.omit({ tenant: true }),
  SubscribeToTask: operations.SubscribeToTask.omit({ tenant: true }),
  CreateTaskPushNotificationConfig: v03PushConfigSchema,
  /** The id of a configuration defaults to its task's. */
  GetTaskPushNotificationConfig: z
    .object({ ...pushId, pushNotificationConfigId: optionalValue(idSchema) })
    .transform(({ id: taskId, pushNotificationConfigId: id = taskId }) => ({ taskId, id })),
  ListTaskPushNotificationConfigs: z
    .object({ id: idSchema })
    .transform(({ id }) => ({ taskId: id })),
  DeleteTaskPushNotificationConfig: z
    .object(pushId)
    .transform(({ id: taskId, pushNotificationConfigId: id }) => ({ taskId, id })),
  GetExtendedAgentCard: z.unknown().transform(() => ({})),
};

type ParamsToV03 = {
  [O in V03OperationName]: (params: OperationParams<O>) => Record<string, unknown> | undefined;
};

const paramsWriters: ParamsToV03 = {
  SendMessage: sendParamsToV03,
  SendStreamingMessage: sendParamsToV03,
  GetTask: ({ id, historyLength }) => ({ id, historyLength }),
  CancelTask: ({ id, metadata }) => ({ id, metadata }),
  SubscribeToTask: ({ id }) => ({ id }),
  CreateTaskPushNotificationConfig: pushConfigToV03,
  GetTaskPushNotificationConfig: ({ taskId, id }) => ({ id: taskId, pushNotificationConfigId: id }),
  ListTaskPushNotificationConfigs: ({ taskId }) => ({ id: taskId }),
  DeleteTaskPushNotificationConfig: ({ taskId, id }) => ({
    id: taskId,
    pushNotificationConfigId: id,
  }),
  GetExtendedAgentCard: () => undefined,
};

/**
 * Writes the params of an operation for 0.3. It has no tenants, so a peer that wants one cannot be called in it.
 */
export function paramsToV03<O extends V03OperationName>(request: {
  operation: O;
  params: OperationParams<O>;
}): Record<string, unknown> | undefined {
  const { operation, params } = request;
  return paramsWriters[operation](params);
}

function sendParamsToV03(request: OperationParams<"SendMessage">): Record<string, unknown> {
  const { message, configuration, metadata } = request;
  if (configuration === undefined) return { message: messageToV03(message), metadata };
  const { returnImmediately = false, taskPushNotificationConfig: push, ...others } = configuration;
  const configurationV03 = {
    ...others,
    blocking: !returnImmediately,
    pushNotificationConfig: push && pushTargetToV03(push),
  };
  return { message: messageToV03(message), configuration: configurationV03, metadata };
}
