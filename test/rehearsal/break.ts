/** Good templates made bad in one place, to see whether the rehearsal notices. */
import type { Assembly, Template } from "./template/assembly.ts";

type RawResource = Template["Resources"][string];

/** A copy of the assembly in which `edit` has changed each resource of the type that `which` picks. Throws where none is. */
export function broken({
  assembly,
  type,
  which = () => true,
  edit,
}: {
  assembly: Assembly;
  type: string;
  which?: (logicalId: string, resource: RawResource) => boolean;
  edit: (properties: Record<string, unknown>) => void;
}): Assembly {
  let edits = 0;
  const stacks = assembly.stacks.map((stack) => {
    const template = structuredClone(stack.template);
    for (const [logicalId, resource] of Object.entries(template.Resources)) {
      if (resource.Type !== type || !which(logicalId, resource)) continue;
      edit(resource.Properties);
      edits++;
    }
    return { ...stack, template };
  });
  if (edits === 0) throw new Error(`There is no ${type} to break.`);
  return { ...assembly, stacks };
}

/** A copy without any statement that allows `action`, wherever the role's policies stand. */
export function without({ assembly, action, role }: { assembly: Assembly; action: string; role: string }): Assembly {
  let edits = 0;
  const remove = (document: unknown) => {
    const { Statement } = document as { Statement: { Action: string | string[] }[] };
    for (const statement of Statement) {
      const actions = [statement.Action].flat();
      const kept = actions.filter((candidate) => candidate !== action);
      edits += actions.length - kept.length;
      statement.Action = kept.length > 0 ? kept : "none:None";
    }
  };
  const stacks = assembly.stacks.map((stack) => {
    const template = structuredClone(stack.template);
    for (const [logicalId, { Type, Properties }] of Object.entries(template.Resources)) {
      if (Type === "AWS::IAM::Policy" && JSON.stringify(Properties.Roles).includes(role))
        remove(Properties.PolicyDocument);
      if (Type === "AWS::IAM::Role" && logicalId.includes(role))
        for (const { PolicyDocument } of (Properties.Policies ?? []) as { PolicyDocument: unknown }[])
          remove(PolicyDocument);
    }
    return { ...stack, template };
  });
  if (edits === 0) throw new Error(`No policy of ${role} allows ${action}.`);
  return { ...assembly, stacks };
}
