/** The address for push notifications of a task (A2A 1.0, section 4.3: TaskPushNotificationConfig, AuthenticationInfo). */
import * as z from "zod";
import { optionalText, optionalValue } from "./values.ts";

export const authenticationInfoSchema = z.object({
  scheme: z.string().regex(/^[A-Za-z][\w-]{0,63}$/),
  credentials: optionalText(8192),
});

/** `credentials` and `token` are secrets of the client: they are sent to `url` only. */
export const pushConfigSchema = z.object({
  tenant: optionalText(256),
  id: optionalText(128),
  taskId: optionalText(256),
  url: z.string().min(1).max(2048),
  token: optionalText(4096),
  authentication: optionalValue(authenticationInfoSchema),
});
export type PushConfig = z.infer<typeof pushConfigSchema>;
