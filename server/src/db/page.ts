/** A page of a list by its text key: the rows after `after`. */
export type Page = Readonly<{ after: string | null; limit: number }>;
