/** Push notification configurations of A2A 0.3 (sections 6.8 to 6.10): read as those of 1.0, and written from them. */
import * as z from "zod";
import { authenticationInfoSchema, type PushConfig, pushConfigSchema } from "../push.ts";
import { idSchema, unset } from "../values.ts";

const { scheme, credentials } = authenticationInfoSchema.shape;

/** 1.0 has one scheme where 0.3 lists what the receiver takes: the first is the one. */
const authenticationSchema = z
  .object({ schemes: z.array(scheme).min(1).max(10), credentials })
  .transform(({ schemes: [scheme = ""], credentials }) => ({ scheme, credentials }));

/** As it comes with a message, which has no task yet. */
export const v03PushTargetSchema = pushConfigSchema
  .omit({ tenant: true, taskId: true })
  .extend({ authentication: unset(authenticationSchema) });

export const v03PushConfigSchema = z
  .object({ taskId: idSchema, pushNotificationConfig: v03PushTargetSchema })
  .transform(({ taskId, pushNotificationConfig }) => ({ taskId, ...pushNotificationConfig }));

export function pushTargetToV03({ id, url, token, authentication }: PushConfig): z.input<typeof v03PushTargetSchema> {
  if (authentication === undefined) return { id, url, token };
  const { scheme, credentials } = authentication;
  return { id, url, token, authentication: { schemes: [scheme], credentials } };
}

export function pushConfigToV03(config: PushConfig & { taskId: string }): z.input<typeof v03PushConfigSchema> {
  return { taskId: config.taskId, pushNotificationConfig: pushTargetToV03(config) };
}
