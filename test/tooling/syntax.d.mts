import type { parseAst } from 'rolldown/parseAst';

/** A node of the syntax tree, with the members of its type. */
export type Node = NonNullable<ReturnType<typeof parseAst>['body'][number]['parent']>;
export type NodeOf<Type extends Node['type']> = Extract<Node, { readonly type: Type }>;
/** A position in the source and the text that replaces it. */
export type Change = { readonly start: number; readonly end: number; readonly text: string };
/** Returns whether a value of a node is a node itself. */
export declare const isNode: (part: unknown) => part is Node;
/** Returns the direct nodes of a node. */
export declare const partsOf: (node: Node) => Node[];
