import { type Field, type Fields, bare } from '../../../core/field.ts';
import { clientTypeRows, type ClientType } from '../../../api-specs/oauth/client-types.ts';
import { type Html, html } from '../../html.ts';

/** Fields that every client type has. */
const common = ['name', 'project', 'redirect_uris', 'any_path', 'trust', 'id_token_alg'];
/** The fields of one client type, in the order of the document. */
export const fieldsOfType = (type: ClientType, all: Fields): Fields => {
  const names = ['name', ...clientTypeRows[type].fields, ...common.slice(1)];
  return Object.fromEntries(names.flatMap((name) => (all[name] ? [[name, all[name]]] : [])));
};

const control = (id: string, name: string, field: Field, isRequired: boolean): Html => {
  const inner = bare(field);
  if (inner.type === 'string' && inner.enum) {
    return html`<select id="${id}" name="${name}">${isRequired ? '' : html`<option value=""></option>`}${inner.enum.map((value) => html`<option>${value}</option>`)}</select>`;
  }
  if (inner.type === 'boolean')
    return html`<select id="${id}" name="${name}"><option value=""></option><option>true</option><option>false</option></select>`;
  const type = inner.type === 'integer' ? 'number' : name === 'password' ? 'password' : 'text';
  return html`<input type="${type}" id="${id}" name="${name}"${isRequired && html` required`}${inner.type === 'array' && html` placeholder="separated by blanks"`}>`;
};

/** Labelled controls for the fields of a row. */
export const controls = (prefix: string, fields: Fields, required: readonly string[] = []): Html =>
  html`<div class="grid">${Object.entries(fields).map(([name, field]) => {
    const id = `${prefix}-${name}`;
    const isRequired = field.required === true || required.includes(name);
    return html`<div><label for="${id}">${name.replaceAll('_', ' ')}${isRequired ? ' *' : ''}</label>${control(id, name, field, isRequired)}<span class="soft small">${field.summary ?? ''}</span></div>`;
  })}</div>`;

/** A value of a form as the field's type; an empty one counts as not given. */
export const formValue = (field: Field, text: string): unknown => {
  const inner = bare(field);
  if (inner.type === 'array') return text.split(/[\s,]+/).filter((part) => part !== '');
  if (inner.type === 'integer') return /^-?\d+$/.test(text) ? Number(text) : text;
  return inner.type === 'boolean' ? text === 'true' : text;
};
