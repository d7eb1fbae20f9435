/**
 * CloudFormation's updates of a stack, as far as they concern parameters of Systems Manager: what is created, updated, rolled back and
 * deleted, and in which order. The tags of a stack reach its resources, and every update of a parameter writes the template's value:
 * https://github.com/aws-cloudformation/aws-cloudformation-resource-providers-ssm
 */
import { isDeepStrictEqual } from "node:util";
import type { Parameters } from "../../../doubles/aws/parameters.ts";
import { identityOf } from "./physical.ts";

type Resource = {
  Type: string;
  Properties?: Record<string, unknown>;
  DeletionPolicy?: unknown;
  DependsOn?: unknown;
};
type Resources = Record<string, Resource>;
export type Template = { Resources: Resources };
/** A stack as CloudFormation has it. */
type Content = { template: Template; tags: Record<string, string> };

type Deploy = Content & {
  /** The logical id of a resource whose update fails. */
  failsAt?: string;
  /** Called after each resource that was created, updated, or brought back by a rollback. */
  onStep?: (logicalId: string) => unknown;
};

/** A stack that does not exist yet. */
export function openStack(options: {
  name: string;
  account: string;
  region: string;
  parameters: Parameters;
}) {
  const { name, account, region, parameters } = options;
  const user = `arn:aws:sts::${account}:assumed-role/cdk-hnb659fds-cfn-exec-role-${account}-${region}/AWSCloudFormation`;
  let content: Content = { template: { Resources: {} }, tags: {} };

  function nameOf(
    logicalId: string,
    { Type: type, Properties: properties = {} }: Resource,
  ): string {
    const place = { stackName: name, account, region, logicalId };
    return identityOf({ type, place, properties })?.ref ?? "";
  }

  function write(logicalId: string, resource: Resource): void {
    if (resource.Type !== "AWS::SSM::Parameter") return;
    parameters.put({
      name: nameOf(logicalId, resource),
      value: String(resource.Properties?.Value),
      user,
    });
  }

  function remove(logicalId: string, resource: Resource): void {
    if (resource.Type === "AWS::SSM::Parameter") parameters.remove(nameOf(logicalId, resource));
  }

  return {
    nameOf: (logicalId: string) =>
      nameOf(logicalId, content.template.Resources[logicalId] ?? { Type: "" }),
    /** Creates or updates the stack. Resolves to false if it was rolled back. */
    async deploy({ failsAt, onStep, ...next }: Deploy): Promise<boolean> {
      const [old, resources] = [content.template.Resources, next.template.Resources];
      const haveTagsChanged = !isDeepStrictEqual(content.tags, next.tags);
      const done: string[] = [];
      for (const [id, resource] of inOrder(resources)) {
        // Another policy for the end of a resource is no update of it.
        const isChanged = !isDeepStrictEqual(old[id]?.Properties, resource.Properties);
        if (old[id] !== undefined && !isChanged && !haveTagsChanged) continue;
        if (id !== failsAt) {
          write(id, resource);
          done.push(id);
          await onStep?.(id);
          continue;
        }
        for (const undone of done.reverse()) {
          const before = old[undone];
          if (before === undefined) remove(undone, resources[undone] ?? resource);
          else write(undone, before);
          await onStep?.(undone);
        }
        return false;
      }
      // The policy that counts is the one with which the resource was deployed.
      for (const [id, resource] of Object.entries(old)) {
        const isKept = id in resources || /^Retain/.test(String(resource.DeletionPolicy));
        if (!isKept) remove(id, resource);
      }
      content = next;
      return true;
    },
  };
}

/** Puts each resource after those that it refers to or depends on. */
function inOrder(resources: Resources): [string, Resource][] {
  const ordered = new Map<string, Resource>();
  const visit = (id: string, path: string[]): void => {
    const resource = resources[id];
    if (resource === undefined || ordered.has(id)) return;
    if (path.includes(id)) throw new Error(`Circular dependency: ${[...path, id].join(", ")}.`);
    for (const needed of [resource.DependsOn ?? []].flat().map(String))
      visit(needed, [...path, id]);
    for (const needed of referencesIn(resource.Properties)) visit(needed, [...path, id]);
    ordered.set(id, resource);
  };
  for (const id of Object.keys(resources)) visit(id, []);
  return [...ordered];
}

function referencesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(referencesIn);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    if (key === "Ref") return [String(inner)];
    if (key === "Fn::GetAtt")
      return [String(Array.isArray(inner) ? inner[0] : inner).split(".")[0] ?? ""];
    if (key === "Fn::Sub")
      return [...String(inner).matchAll(/\$\{([^}.]+)/g)].map(([, name = ""]) => name);
    return referencesIn(inner);
  });
}
