/** Where the app was installed by Slack's OAuth flow: a token for each workspace, or for an organization as a whole. */
import * as z from "zod";

/** As it is stored: JSON, one installation a secret. */
export const storedInstallationSchema = z.object({
  botToken: z.string().regex(/^xox[a-z]-/),
  /** Absent where the whole organization has it. */
  team: z.string().optional(),
  enterprise: z.string().optional(),
  botUser: z.string(),
  installedAtMs: z.int(),
  scopes: z.array(z.string()),
});
export type StoredInstallation = z.infer<typeof storedInstallationSchema>;

/** `id` is the workspace's, or the organization's where it is installed there as a whole: T… or E…. */
export type Installations = {
  /** Undefined where there is none; rejects where nobody knows. */
  get(request: { id: string }): Promise<StoredInstallation | undefined>;
  /** Takes the place of an earlier one. */
  put(request: { id: string; installation: StoredInstallation }): Promise<void>;
};

/** Becomes part of a name, so nothing else may pass. */
export function requireInstallationId(id: string): void {
  if (!/^[TE][A-Z0-9]{1,63}$/.test(id)) throw new Error("No id of a workspace or an organization.");
}
