/** Secrets Manager: a secret has a name, perhaps a value, and perhaps a date on which it goes. */
import { json, jsonError } from "./json-services-wire.ts";

export type StoredSecret = { value?: string; deleted?: boolean; description?: string; tags?: unknown };

export type Secrets = {
  all: Map<string, StoredSecret>;
  handle(request: { action: string; input: Record<string, unknown> }): Response;
};

export function createSecrets(): Secrets {
  const all = new Map<string, StoredSecret>();
  const absent = () =>
    jsonError({ status: 400, name: "ResourceNotFoundException", message: "Secrets Manager can't find it." });
  return {
    all,
    handle({ action, input }) {
      const { SecretId = "", Name = "", SecretString, Description, Tags } = input as Record<string, string | undefined>;
      const known = all.get(SecretId);
      switch (action) {
        case "DescribeSecret":
          if (known === undefined) return absent();
          return json({
            Name: SecretId,
            ...(known.value === undefined ? {} : { VersionIdsToStages: { "v-1": ["AWSCURRENT"] } }),
            ...(known.deleted ? { DeletedDate: 1_790_000_000 } : {}),
          });
        case "GetSecretValue":
          return known?.value === undefined ? absent() : json({ Name: SecretId, SecretString: known.value });
        case "CreateSecret":
          if (all.has(Name)) return jsonError({ status: 400, name: "ResourceExistsException", message: Name });
          all.set(Name, { value: SecretString ?? "", description: Description ?? "", tags: Tags });
          return json({ Name });
        case "PutSecretValue":
          if (known === undefined) return absent();
          all.set(SecretId, { ...known, value: SecretString ?? "" });
          return json({ Name: SecretId });
      }
      return jsonError({ status: 400, name: "InvalidAction", message: action });
    },
  };
}
