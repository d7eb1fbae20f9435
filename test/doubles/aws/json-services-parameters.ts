/** Systems Manager's parameters: a standard one holds 4 KB, and only an advanced one more. */
import { json, jsonError } from "./json-services-wire.ts";

type Parameter = { value: string; tier: "Standard" | "Advanced" };

export type Parameters = {
  all: Map<string, Parameter>;
  handle(request: { action: string; input: Record<string, unknown> }): Response;
};

export function createParameters(): Parameters {
  const all = new Map<string, Parameter>();
  return {
    all,
    handle({ action, input }) {
      const { Name, Value, Tier, Overwrite } = input as {
        Name: string;
        Value: string;
        Tier?: string;
        Overwrite?: boolean;
      };
      const known = all.get(Name);
      if (action === "GetParameter") {
        if (known === undefined) return jsonError({ status: 400, name: "ParameterNotFound", message: Name });
        return json({ Parameter: { Name, Type: "String", Value: known.value, Version: 1 } });
      }
      if (action !== "PutParameter") return jsonError({ status: 400, name: "InvalidAction", message: action });
      if (known !== undefined && Overwrite !== true) {
        return jsonError({ status: 400, name: "ParameterAlreadyExists", message: Name });
      }
      const bytes = Buffer.byteLength(Value);
      const tier = Tier === "Intelligent-Tiering" && bytes > 4096 ? "Advanced" : (known?.tier ?? "Standard");
      if (bytes > (tier === "Advanced" ? 8192 : 4096)) {
        return jsonError({ status: 400, name: "ValidationException", message: Value });
      }
      all.set(Name, { value: Value, tier });
      return json({ Version: 2, Tier: tier });
    },
  };
}
