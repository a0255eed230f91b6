/**
 * XML as a tree of elements, written by a serializer and read back into the same structure. Nothing here is
 * concatenated from text, and characters that XML 1.0 cannot carry are refused rather than dropped, so that what is
 * read equals what was written.
 */
import { XMLBuilder, XMLParser, XMLValidator } from 'fast-xml-parser';
import { HostError } from '../host/host.ts';

export type XmlElement = Readonly<{
  name: string;
  attributes: Readonly<Record<string, string>>;
  children: readonly XmlNode[];
}>;
export type XmlNode = XmlElement | string;
type Value = string | number;

const ATTRIBUTE = '@_';
const TEXT = '#text';
const NAME = /^[A-Za-z_][A-Za-z0-9_.-]*(?::[A-Za-z_][A-Za-z0-9_.-]*)?$/;
/** Line breaks and tabs are excluded too: an attribute would return them as spaces. */
const NOT_TEXT = /[\p{Cc}\ufffe\uffff]/u;
const MAX_LENGTH = 1024 * 1024;

const checked = (value: Value): string => {
  const text = String(value);
  if (NOT_TEXT.test(text) || !text.isWellFormed())
    throw new HostError('blocked', `${JSON.stringify(text.slice(0, 80))} holds characters that XML cannot carry`);
  return text;
};
const named = (name: string): string => {
  if (!NAME.test(name)) throw new HostError('blocked', `${JSON.stringify(name.slice(0, 80))} is not an XML name`);
  return name;
};

/** An element; attributes that are null are left out. */
export const element = (
  name: string,
  attributes: Readonly<Record<string, Value | null>> = {},
  ...children: readonly (XmlElement | Value)[]
): XmlElement => ({
  name: named(name),
  attributes: Object.fromEntries(
    Object.entries(attributes).flatMap(([key, value]) => (value === null ? [] : [[named(key), checked(value)]])),
  ),
  children: children.map((child) => (typeof child === 'object' ? child : checked(child))),
});

/** The library's own format: one key for the name, one for the attributes. */
type Raw = Readonly<Record<string, unknown>>;

const toRaw = (node: XmlNode): Raw =>
  typeof node === 'string'
    ? { [TEXT]: node }
    : {
        [node.name]: node.children.map(toRaw),
        ':@': Object.fromEntries(Object.entries(node.attributes).map(([key, value]) => [`${ATTRIBUTE}${key}`, value])),
      };

const fromRaw = (raw: Raw): XmlNode[] => {
  const name = Object.keys(raw).find((key) => key !== ':@');
  if (name === undefined) return [];
  if (name === TEXT) return String(raw[TEXT]).trim() === '' ? [] : [String(raw[TEXT])];
  const attributes = (raw[':@'] ?? {}) as Readonly<Record<string, unknown>>;
  return [
    {
      name,
      attributes: Object.fromEntries(
        Object.entries(attributes).map(([key, value]) => [key.slice(ATTRIBUTE.length), String(value)]),
      ),
      children: (raw[name] as readonly Raw[]).flatMap(fromRaw),
    },
  ];
};

const shape = { preserveOrder: true, ignoreAttributes: false, attributeNamePrefix: ATTRIBUTE, textNodeName: TEXT };
const builder = new XMLBuilder({ ...shape, suppressEmptyNode: true, suppressBooleanAttributes: false });
const parser = new XMLParser({
  ...shape,
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  ignoreDeclaration: true,
  ignorePiTags: true,
});

export const writeXml = (root: XmlElement): string => `${builder.build([toRaw(root)])}\n`;

/** A document type could define entities, which are not used here. */
export const readXml = (text: string): XmlElement => {
  const isWell = text.length <= MAX_LENGTH && !/<!DOCTYPE/i.test(text) && XMLValidator.validate(text) === true;
  const roots = isWell ? (parser.parse(text) as readonly Raw[]).flatMap(fromRaw) : [];
  const [root] = roots;
  if (root === undefined || typeof root === 'string' || roots.length > 1)
    throw new HostError('host_error', 'this is not one XML document');
  return root;
};

export const elementsOf = (parent: XmlElement | undefined, name?: string): readonly XmlElement[] =>
  (parent?.children ?? []).flatMap((child) =>
    typeof child === 'object' && (name === undefined || child.name === name) ? [child] : [],
  );

/** The first element at the end of the path. */
export const elementAt = (parent: XmlElement | undefined, ...path: readonly string[]): XmlElement | undefined =>
  path.reduce<XmlElement | undefined>((from, name) => elementsOf(from, name)[0], parent);

export const textOf = (from: XmlElement | undefined): string | null =>
  from === undefined
    ? null
    : from.children
        .filter((child) => typeof child === 'string')
        .join('')
        .trim();
