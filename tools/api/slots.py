"""The virtual functions of each public class in order, which is their place in its table: one library serves both levels only
if these are the same at both."""

import re

import surface

# Applications implement these, and they differ between the levels: src/api/runtime/level.h.
PER_LEVEL = {"nvinfer1::ILogger", "nvinfer1::ILoggerFinder", "nvinfer1::v_1_0::ILogger", "nvinfer1::v_1_0::ILoggerFinder",
             "nvinfer1::v_1_0::IProfiler"}


def is_virtual(node):
    return node.get("virtual") or any(inner["kind"] == "OverrideAttr" for inner in node.get("inner", []))


def slot(node):
    """A function without what a level says of its name, and with the types as they are."""
    name = re.sub(r"_1[01]$", "", node["name"])
    return "~" if name.startswith("~") else f"{name} {node['type']['qualType']}"


def classes(node, name=""):
    for child in node.get("inner", []):
        full = f"{name}::{child.get('name', '')}" if name else child.get("name", "")
        if child["kind"] in ("NamespaceDecl", "LinkageSpecDecl"):
            yield from classes(child, full if child["kind"] == "NamespaceDecl" and child.get("name") else name)
        elif child["kind"] == "CXXRecordDecl" and child.get("completeDefinition"):
            bases = [base["type"]["qualType"] for base in child.get("bases", [])]
            functions = [slot(inner) for inner in child.get("inner", [])
                         if inner["kind"] in ("CXXMethodDecl", "CXXDestructorDecl") and is_virtual(inner)]
            if bases or functions:
                yield full, (bases, functions)


def tables(level, include):
    """Class to its bases and virtual functions, of the classes of the API."""
    tree = surface.clang_tree(["NvOnnxParser.h", "NvOnnxConfig.h", "impl/NvInferPythonPlugin.h"], level, include)
    spaces = {"inner": [node for node in tree["inner"] if node.get("name") in surface.SPACES]}
    return {name: table for name, table in classes(spaces) if name not in PER_LEVEL}
