"""Where each language binds names, in the node types of its tree-sitter grammar."""

from __future__ import annotations

from assay.judges.complexity.binding_rules import Rules, binders, containers, words

PYTHON = Rules(
    scopes=words(
        "function_definition lambda class_definition list_comprehension set_comprehension "
        "dictionary_comprehension generator_expression"
    ),
    functions=words("function_definition lambda"),
    classes=words("class_definition"),
    binders=binders(
        """
        assignment here left
        augmented_assignment here left
        for_statement here left
        for_in_clause here left
        named_expression function name
        as_pattern here alias
        function_definition outside name
        function_definition here parameters
        lambda here parameters
        splat_pattern here
        class_definition outside name
        """
    ),
    containers=containers(
        """
        parameters
        lambda_parameters
        pattern_list
        tuple_pattern
        list_pattern
        tuple
        list_splat_pattern
        dictionary_splat_pattern
        typed_parameter
        default_parameter name
        typed_default_parameter name
        as_pattern_target
        attribute attribute
        """
    ),
    member_fields=frozenset({("attribute", "attribute")}),
    skipped=words("import_statement import_from_statement future_import_statement"),
)

_C_CONTAINERS = """
    init_declarator declarator
    pointer_declarator declarator
    array_declarator declarator
    function_declarator declarator
    reference_declarator
    parenthesized_declarator
    structured_binding_declarator
    variadic_declarator
    attributed_declarator
    preproc_params
"""
CPP = Rules(
    scopes=words(
        "function_definition compound_statement for_statement for_range_loop lambda_expression "
        "catch_clause template_declaration if_statement while_statement switch_statement "
        "field_declaration_list preproc_function_def"
    ),
    functions=words("function_definition lambda_expression"),
    classes=words("field_declaration_list"),
    binders=binders(
        """
        declaration here declarator
        parameter_declaration here declarator
        optional_parameter_declaration here declarator
        variadic_parameter_declaration here declarator
        field_declaration here declarator
        function_definition outside declarator
        for_range_loop here declarator
        type_definition here declarator
        alias_declaration here name
        struct_specifier here name
        class_specifier here name
        union_specifier here name
        enum_specifier here name
        enumerator here name
        type_parameter_declaration here
        optional_type_parameter_declaration here name
        namespace_definition here name
        preproc_def here name
        preproc_function_def outside name
        preproc_function_def here parameters
        lambda_capture_initializer here left
        """
    ),
    containers=containers(_C_CONTAINERS),
    members=words("field_identifier"),
    labels=words("statement_identifier"),
    implicit=True,
    kept=words("main begin end"),
    skipped=words("preproc_include using_declaration"),
)

JAVA = Rules(
    scopes=words(
        "class_declaration interface_declaration enum_declaration record_declaration class_body "
        "interface_body enum_body method_declaration constructor_declaration block for_statement "
        "constructor_body enhanced_for_statement lambda_expression catch_clause "
        "try_with_resources_statement switch_block_statement_group"
    ),
    functions=words("method_declaration constructor_declaration lambda_expression"),
    classes=words("class_body interface_body enum_body"),
    binders=binders(
        """
        variable_declarator here name
        formal_parameter here name
        catch_formal_parameter here name
        enhanced_for_statement here name
        resource here name
        instanceof_expression here name
        lambda_expression here parameters
        method_declaration outside name
        class_declaration outside name
        interface_declaration outside name
        enum_declaration outside name
        record_declaration outside name
        enum_constant here name
        type_parameter here
        """
    ),
    containers=containers("inferred_parameters"),
    member_fields=frozenset({("field_access", "field"), ("method_invocation", "name")}),
    labels=words("labeled_statement break_statement continue_statement"),
    implicit=True,
    kept=words("main compareTo compare equals hashCode toString iterator run call"),
    skipped=words("import_declaration package_declaration"),
)

JAVASCRIPT = Rules(
    scopes=words(
        "function_declaration function_expression generator_function generator_function_declaration"
        " arrow_function method_definition statement_block for_statement for_in_statement "
        "catch_clause"
    ),
    functions=words(
        "function_declaration function_expression generator_function generator_function_declaration"
        " arrow_function method_definition"
    ),
    binders=binders(
        """
        variable_declarator here name
        function_declaration outside name
        generator_function_declaration outside name
        function_expression here name
        class_declaration here name
        class here name
        formal_parameters here
        arrow_function here parameter
        catch_clause here parameter
        for_in_statement here left
        assignment_expression member left
        method_definition member name
        field_definition member property
        pair member key
        import_clause here
        namespace_import here
        """
    ),
    containers=containers(
        """
        object_pattern
        array_pattern
        rest_pattern
        assignment_pattern left
        object_assignment_pattern left
        pair_pattern value
        member_expression property
        """
    ),
    members=words("property_identifier private_property_identifier"),
    labels=words("statement_identifier"),
    kept=words("constructor exports prototype length main"),
)

GO = Rules(
    scopes=words(
        "function_declaration method_declaration func_literal block for_statement if_statement "
        "expression_switch_statement type_switch_statement expression_case type_case default_case "
        "communication_case"
    ),
    functions=words("function_declaration method_declaration func_literal"),
    binders=binders(
        """
        short_var_declaration here left
        range_clause here left
        receive_statement here left
        var_spec here name
        const_spec here name
        parameter_declaration here name
        variadic_parameter_declaration here name
        type_parameter_declaration here name
        function_declaration outside name
        method_declaration member name
        type_spec here name
        type_alias here name
        field_declaration member name
        method_elem member name
        type_switch_statement here alias
        """
    ),
    containers=containers("expression_list"),
    members=words("field_identifier"),
    labels=words("label_name"),
    kept=words("main init Len Less Swap Push Pop String Error"),
    skipped=words("package_clause import_declaration"),
)

RUST = Rules(
    scopes=words(
        "function_item block closure_expression for_expression match_arm if_expression "
        "while_expression impl_item trait_item"
    ),
    functions=words("function_item closure_expression"),
    binders=binders(
        """
        let_declaration here pattern
        parameter here pattern
        closure_parameters here
        for_expression here pattern
        match_arm here pattern
        let_condition here pattern
        function_item outside name
        function_signature_item member name
        struct_item here name
        enum_item here name
        union_item here name
        type_item here name
        trait_item outside name
        mod_item here name
        const_item here name
        static_item here name
        const_parameter here name
        type_parameter here name
        enum_variant member name
        field_declaration member name
        macro_definition here name
        """
    ),
    containers=containers(
        """
        tuple_pattern
        mut_pattern
        ref_pattern
        reference_pattern
        slice_pattern
        or_pattern
        match_pattern
        captured_pattern
        tuple_struct_pattern
        struct_pattern
        field_pattern pattern name
        """
    ),
    members=words("field_identifier"),
    labels=words("label"),
    kept=words(
        "main cmp partial_cmp eq hash fmt next drop deref index index_mut add sub mul div rem neg "
        "from from_str default clone into_iter"
    ),
    skipped=words("use_declaration"),
)

RULES: dict[str, Rules] = {
    "python": PYTHON,
    "c": CPP,
    "cpp": CPP,
    "java": JAVA,
    "javascript": JAVASCRIPT,
    "go": GO,
    "rust": RUST,
}
