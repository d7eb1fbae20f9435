const part = "a+";
export const slow = new RegExp(`^(${part})+$`);
