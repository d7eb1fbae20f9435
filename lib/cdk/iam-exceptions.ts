/** Permissions that no rehearsal can use, each with its reason. Whatever else a template allows must be used in one. */

export type IamException = {
  action: string;
  /** A pattern of the resource as IAM writes them; any resource where absent. */
  resource?: string;
  reason: string;
};

export const iamExceptions: readonly IamException[] = [];
